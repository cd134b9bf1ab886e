/// The pages of the roles.
enum Pages {
  static let typing = """
    <!doctype html>
    <html>
    <link rel="icon" href="data:,">
    <script type="module" src="binding.js"></script>
    <script type="module" src="typing.js"></script>
    <input id="text" data-bind="text"><p id="upper" data-text="upper"></p>
    <input id="report" data-bind="report">
    """

  /// Types faster than any user, but not in step with anything, and measures until the page shows
  /// the derived text. A report is a list of milliseconds.
  static let typingScript = """
    const [text, upper, report] = ["text", "upper", "report"].map((id) => document.getElementById(id));
    const pause = (time) => new Promise((go) => setTimeout(go, time));
    const type = (field, value) => {
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const shown = (value) => new Promise((go) => {
      const observer = new MutationObserver(() => {
        if (upper.textContent != value) return;
        observer.disconnect();
        go();
      });
      observer.observe(upper, { childList: true, characterData: true, subtree: true });
    });
    while (document.documentElement.dataset.live != "on") await pause(20);
    const count = Number(new URLSearchParams(location.search).get("count"));
    const times = [];
    for (let index = -20; index < count; index += 1) {
      const begin = performance.now();
      const isShown = shown(`KEY ${index}`);
      type(text, `key ${index}`);
      await isShown;
      if (index >= 0) times.push(Math.round((performance.now() - begin) * 100) / 100);
      await pause(40 + Math.random() * 60);
    }
    type(report, times.join(" "));
    """

  static let devices = """
    <!doctype html>
    <html>
    <link rel="icon" href="data:,">
    <script type="module" src="binding.js"></script>
    <table><template data-each="devices">
    <tr><td data-text="name"><td data-text="strength"><td data-text="age">
    </template></table>
    """
}
