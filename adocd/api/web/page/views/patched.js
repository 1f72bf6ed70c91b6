// HTML that is updated in place, so that focus, selection, opened details and scroll positions stay.
const KEEP = new Set(["open"]); // set by the visitor, not by the server

function patchAttributes(live, next) {
  for (const { name } of [...live.attributes]) {
    if (!next.hasAttribute(name) && !KEEP.has(name) && name !== "title") live.removeAttribute(name);
  }
  for (const { name, value } of [...next.attributes]) {
    if (live.getAttribute(name) !== value) live.setAttribute(name, value);
  }
}

function patchChildren(live, next) {
  let at = live.firstChild;
  for (const wanted of [...next.childNodes]) {
    const known = wanted.id ? [...live.children].find((each) => each.id === wanted.id) : null;
    if (known && known !== at) live.insertBefore(known, at);
    const here = known ?? at;
    const isSame = here && here.nodeType === wanted.nodeType && here.nodeName === wanted.nodeName;
    if (isSame && (here.id || "") === (wanted.id || "")) {
      if (here.nodeType === Node.ELEMENT_NODE) patch(here, wanted);
      else if (here.nodeValue !== wanted.nodeValue) here.nodeValue = wanted.nodeValue;
      at = here.nextSibling;
    } else {
      live.insertBefore(wanted, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function patch(live, next) {
  patchAttributes(live, next);
  if (!live.nodeName.includes("-")) patchChildren(live, next); // custom elements render themselves
}

export default {
  template: "<div></div>",
  mounted() {
    this.render();
  },
  watch: {
    content() {
      this.render();
    },
  },
  methods: {
    render() {
      const next = document.createElement("template");
      next.innerHTML = this.content;
      const refocus = window.adocd.focusWithin(this.$el);
      patchChildren(this.$el, next.content);
      refocus();
    },
  },
  props: { content: String },
};
