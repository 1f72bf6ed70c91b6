#!/bin/bash
# Boots systemd as the first process of namespaces of its own. What it and its services write is gone afterwards:
# /etc, /usr, /var and /opt are overlays, /run is empty.
#   boot_systemd.sh STATE CHECKOUT SITE_PACKAGES PYTHON
# STATE is a directory of the caller's, /run/tests inside. CHECKOUT's adocd, run by the interpreter whose prefix is
# PYTHON, stands for one installed in /opt/adocd.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  # Without a control group of its own systemd would take over that of whoever called.
  hierarchy=$(findmnt --noheadings --types cgroup2 --output TARGET | head -n 1 || true)
  [ -n "$hierarchy" ] || { echo "there is no cgroup2 here" >&2; exit 1; }
  group=$hierarchy/adocd-tests-$$
  mkdir "$group"
  echo "$group" > "$1/cgroup"
  echo $$ > "$group/cgroup.procs"
  exec unshare --pid --fork --kill-child --mount --propagation private --cgroup --ipc --uts --mount-proc \
    "$0" --inside "$@"
fi
state=$2 checkout=$3 packages=$4 python=$5

mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/tests /run/upper
mount --bind "$state" /run/tests
mount -t tmpfs tmpfs /run/upper
for tree in etc usr var opt; do
  mkdir "/run/upper/$tree" "/run/upper/$tree.work"
  mount -t overlay -o "lowerdir=/$tree,upperdir=/run/upper/$tree,workdir=/run/upper/$tree.work" overlay "/$tree"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup

# None of this machine's own services.
rm -rf /etc/systemd/system /etc/systemd/system.conf.d
mkdir -p /etc/systemd/system/service.d
for wants in /lib/systemd/system/*.target.wants; do mount -t tmpfs tmpfs "$wants"; done
printf '[Unit]\nDescription=Nothing yet\n' > /etc/systemd/system/adocd-tests.target
# There is no journal.
printf '[Service]\nStandardOutput=append:/run/tests/log\nStandardError=append:/run/tests/log\n' \
  > /etc/systemd/system/service.d/log.conf

mkdir -p /opt/adocd/bin /opt/adocd/checkout /opt/adocd/packages /opt/adocd/python
mount --bind "$checkout" /opt/adocd/checkout
mount --bind "$packages" /opt/adocd/packages
mount --bind "$python" /opt/adocd/python
for name in adocd adocctl; do
  cat > /opt/adocd/bin/$name <<END
#!/bin/sh
export PYTHONPATH=/opt/adocd/checkout:/opt/adocd/packages PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=/opt/adocd/python/lib
exec /opt/adocd/python/bin/python3 -c 'from adocd.cli.$name import main; main()' "\$@"
END
  chmod 755 /opt/adocd/bin/$name
done
echo 'u mydb - "owner of the example database"' | systemd-sysusers -

export container=adocd-tests
exec /lib/systemd/systemd --system --unit=adocd-tests.target --log-target=console --show-status=no </dev/null
