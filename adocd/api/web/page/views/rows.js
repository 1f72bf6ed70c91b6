// Rows that change their order: the focus goes with its row, although a browser takes it from what is moved.
export default {
  template: "<div><slot></slot></div>",
  beforeUpdate() {
    this.refocus = window.adocd.focusWithin(this.$el);
  },
  updated() {
    this.refocus();
  },
};
