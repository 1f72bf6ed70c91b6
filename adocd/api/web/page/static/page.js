// What the browser does by itself: show times, and say at once when there is no news.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  const QUIET_MS = 2000; // the server has news every second
  const FIRST_MS = 5000; // loading takes longer
  let heardMs = Date.now();
  let lost = null; // why the daemon does not answer, from the server; null: it answers
  let skewMs = 0; // the server's clock minus ours, for ages
  let reached = false;

  const clock = (unix) => {
    const then = new Date(unix * 1000);
    const time = then.toLocaleTimeString([], { hourCycle: "h23" });
    return then.toDateString() === new Date().toDateString() ? time : `${then.toLocaleDateString()} ${time}`;
  };
  const age = (seconds) => {
    const s = Math.max(0, Math.round(seconds));
    if (s < 100) return `${s} s`;
    const m = Math.round(s / 60);
    if (m < 100) return `${m} min`;
    const h = Math.floor(m / 60);
    return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
  };

  class LocalTime extends HTMLElement {
    static observedAttributes = ["unix"];
    attributeChangedCallback() {
      this.connectedCallback();
    }
    connectedCallback() {
      const unix = Number(this.getAttribute("unix"));
      this.textContent = clock(unix);
      this.title = new Date(unix * 1000).toISOString();
    }
  }
  class TimeAgo extends HTMLElement {
    static observedAttributes = ["unix"];
    attributeChangedCallback() {
      this.show();
    }
    connectedCallback() {
      this.show();
      this.timer = setInterval(() => this.show(), 1000);
    }
    disconnectedCallback() {
      clearInterval(this.timer);
    }
    show() {
      this.textContent = `${age((Date.now() + skewMs) / 1000 - Number(this.getAttribute("unix")))} ago`;
    }
  }
  // A time of today has no date, so tomorrow it needs one.
  let today = new Date().toDateString();
  const turnDay = () => {
    const now = new Date().toDateString();
    if (now === today) return;
    today = now;
    document.querySelectorAll("local-time").forEach((each) => each.connectedCallback());
  };
  customElements.define("local-time", LocalTime);
  customElements.define("time-ago", TimeAgo);

  // Screen readers say an alert whenever it changes: so its words are set only when they change, and the age, which
  // changes all the time, is hidden from them.
  let told = null; // the words that the banner has; null: it is hidden
  const tell = (banner, what, ageMs, then) => {
    if (told !== what) {
      told = what;
      const aged = document.createElement("span");
      aged.setAttribute("aria-hidden", "true");
      banner.replaceChildren(`${what} `, aged, then);
      banner.hidden = false;
    }
    const words = `What you see is ${age(ageMs / 1000)} old. `;
    const aged = banner.querySelector("span");
    if (aged.textContent !== words) aged.textContent = words;
  };

  let name = null; // of the page, with the state of what it shows; null: not told yet
  adocd.name = (title) => {
    name = title;
    show();
  };

  const isCut = () => Boolean(reached && window.socket && !window.socket.connected);
  const show = () => {
    turnDay();
    const banner = document.getElementById("lost");
    if (!banner) return;
    const quietMs = Date.now() - heardMs;
    const gone = isCut();
    if (gone) knock();
    const away = gone || quietMs > (reached ? QUIET_MS : FIRST_MS);
    document.body.classList.toggle("stale", away || lost !== null);
    document.body.classList.toggle("cut", reached && away);
    if (name !== null) {
      const title = away || lost !== null ? `? not live: ${name}` : name;
      if (document.title !== title) document.title = title;
    }
    if (away) {
      tell(banner, "Connection to adocd's page lost.", quietMs, "It reconnects by itself.");
    } else if (lost !== null) {
      tell(banner, `The daemon does not answer: ${lost}.`, Date.now() - lostSinceMs, "");
    } else if (told !== null) {
      told = null;
      banner.hidden = true;
    }
  };
  let lostSinceMs = 0;
  // A visitor who may no longer read gets no new connection: reload, so that the page does not promise to reconnect.
  let knockedMs = 0;
  const knock = async () => {
    if (Date.now() - knockedMs < 5000) return;
    knockedMs = Date.now();
    try {
      if ((await fetch("/v1/controllers", { method: "HEAD" })).status === 401) location.reload();
    } catch {
      // no answer: the banner says so
    }
  };
  // NiceGUI reloads the page when a new connection takes long, and then a browser shows an error of its own instead of
  // the last figures. socket.io goes on trying.
  let tries = null; // the socket that does
  const goOnTrying = () => {
    const socket = window.socket;
    if (!socket?.listeners || tries === socket) return;
    tries = socket;
    for (const theirs of [...socket.listeners("connect_error")]) {
      socket.off("connect_error", theirs);
      socket.on("connect_error", (error) => error.message === "timeout" || theirs(error));
    }
  };
  adocd.tick = (trouble, silentS, unix) => {
    goOnTrying();
    heardMs = Date.now();
    reached = true;
    lost = trouble;
    lostSinceMs = Date.now() - silentS * 1000;
    if (unix) skewMs = unix * 1000 - Date.now();
    show();
  };
  setInterval(show, 250);
  // What is confirmed without a connection, or on one that is silent, would be sent later, when nobody expects it any
  // more. A listener hears the keyboard, too, which the style of such a button does not.
  const stopIfCut = (event) => {
    const isStopped = isCut() || document.body.classList.contains("cut");
    if (!isStopped || !event.target.closest?.(".confirm")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("click", stopIfCut, true);

  // A browser takes the focus from an element that is moved: returns a function that gives it back.
  adocd.focusWithin = (root) => {
    const focused = root.contains(document.activeElement) ? document.activeElement : null;
    return () => {
      if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
    };
  };

  adocd.theme = (choice) => {
    const dark = choice === "dark" || (choice === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
    try {
      localStorage.setItem("adocd-theme", choice);
    } catch {
      // without local storage, the browser follows the system again next time
    }
    window.Quasar?.Dark.set(dark);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.querySelectorAll("[data-theme-choice]").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    });
    adocd.redraw?.();
  };
  adocd.chosenTheme = () => {
    try {
      return localStorage.getItem("adocd-theme") || "system";
    } catch {
      return "system";
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => adocd.theme(adocd.chosenTheme()));

  adocd.logIn = async (secret) => {
    const answer = await fetch(`${window.path_prefix}/session`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: secret }),
    });
    if (answer.ok) {
      location.reload();
      return "";
    }
    try {
      return (await answer.json()).detail;
    } catch {
      return `the server answered ${answer.status}`;
    }
  };
  adocd.logOut = async () => {
    await fetch(`${window.path_prefix}/session`, { method: "DELETE" });
    location.reload();
  };
  document.documentElement.lang = "en";
})();
