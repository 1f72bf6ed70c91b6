// The time that the charts show: kept in the page's link, and in two fields that can be typed into.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  adocd.choose = (from, to) => emitEvent("adocd-range", [from, to]);
  const local = (unix) => new Date(unix * 1000 - new Date(unix * 1000).getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  adocd.showRange = (query) => {
    history.replaceState(history.state, "", query ? `?${query}` : location.pathname);
    adocd.showTimes();
  };
  // The two fields follow the charts, which go on.
  adocd.showTimes = () => {
    const [begin, end] = adocd.marking.shown();
    const fields = [document.getElementById("range-from"), document.getElementById("range-to")];
    fields.forEach((field, i) => {
      if (!field || document.activeElement === field) return;
      field.value = local([begin, end][i] / 1000);
      field.onchange = () => {
        const [from, to] = fields.map((each) => new Date(each.value).getTime() / 1000);
        if (to > from) adocd.choose(from, to);
      };
    });
  };

  // A phone shows the first charts; the others are a touch away.
  if (matchMedia("(max-width: 600px)").matches) {
    const fold = () => {
      const folded = document.querySelector("details.more-charts");
      if (folded) folded.open = false;
      return Boolean(folded);
    };
    const seen = new MutationObserver(() => fold() && seen.disconnect());
    seen.observe(document.documentElement, { childList: true, subtree: true });
  }
})();
