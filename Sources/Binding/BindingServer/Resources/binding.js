// Binds a page to the view model that a server shows: <script type="module" src="binding.js">.
// The attributes, and `live` for scripts, are described in the documentation of Binding.

// A shared worker has no document.
const root = self.document?.documentElement;
const beside = (name) => new URL(name, import.meta.url);

// The stream is one for all tabs of a browser, since browsers open few connections to a server. It
// runs in a shared worker, or in the page where there are none. Opening it anew brings snapshots.

const serve = () => {
  const ports = new Map();
  let source, timer, silence;
  const open = () => {
    source?.close();
    source = ports.size ? new EventSource(beside("live?tab=" + [...ports.keys()])) : null;
    silence = 0;
    if (!source) return;
    for (const kind of ["snap", "patch", "beat"])
      source.addEventListener(kind, ({ data }) => {
        const message = JSON.parse(data);
        silence = 0;
        ports.get(message.tab)?.postMessage(message);
      });
    source.onerror = () => {
      ports.forEach((port) => port.postMessage(0));
      // It tries again by itself, unless something else than a stream came.
      if (source.readyState > 1) openIn(700);
    };
  };
  const openIn = (time) => {
    clearTimeout(timer);
    timer = setTimeout(open, time);
  };
  // The server gives a sign of life every 15 seconds.
  setInterval(() => source && silence++ > 1 && open(), 2e4);
  return (port) => {
    port.onmessage = ({ data: [isHere, tab] }) => {
      isHere ? ports.set(tab, port) : ports.delete(tab);
      openIn(0);
    };
  };
};

// The page and each row of its lists are a scope: values by name, and what shows them.

const scopeOf = (at) => ({ at, values: {}, updates: new Set() });
const page = scopeOf([]);
const lists = {};
const listOf = (name) =>
  (lists[name] ??= { keys: [], rows: new Map(), shows: new Set(), observers: new Set() });
const pathOf = (scope, name) => (scope.at[0] ? [...scope.at, name] : name);

// What was typed. Until it is acknowledged, the server's value of it is ignored; and for as long as it
// holds, it is typed again into a server that was started anew.
const edits = new Map();
const changed = new Set();
let port, tab, epoch, sequence, flight, isDue;
let queue = [];

const update = () => {
  changed.forEach((scope) => scope.updates.forEach((each) => each()));
  changed.clear();
};

const accept = (scope, values) => {
  for (const name in values) {
    const id = scope.at + "/" + name;
    const edit = edits.get(id);
    if (edit && !edit.isDone) continue;
    // Fields have texts, also of numbers.
    if (edit?.value != values[name]) edits.delete(id);
    scope.values[name] = values[name];
    changed.add(scope);
  }
};

const set = (scope, name, value) => {
  const id = scope.at + "/" + name;
  let { op } = edits.get(id) ?? {};
  // Of each path the last value is sent, but none passes an action.
  if (queue.indexOf(op) > queue.findLastIndex(([verb]) => verb == "call"))
    op[2] = value;
  else queue.push((op = ["set", pathOf(scope, name), value]));
  edits.set(id, { scope, name, value, op });
  scope.values[name] = value;
  changed.add(scope);
  update();
};

// Sends what is due, one message at a time.

const send = (now) => {
  isDue ||= now;
  if (flight || !isDue || !epoch || !queue.length) return;
  isDue = false;
  flight = { tab, epoch, seq: ++sequence, ops: queue };
  queue = [];
  edits.forEach((edit) => (edit.seq ??= sequence));
  post(flight);
};

const post = async (message) => {
  const body = JSON.stringify(message);
  const { status } = await fetch(beside("live"), {
    method: "POST",
    body,
    keepalive: body.length < 6e4,
  }).catch(() => ({ status: 503 }));
  if (flight != message) return;
  if (status > 499) return setTimeout(() => flight == message && post(message), 500);
  if (status > 204) {
    // After a conflict all is typed again; what was refused is not.
    if (status != 409) edits.clear();
    epoch = 0;
    return port.postMessage([true, tab]);
  }
  flight = 0;
  send();
};

// Takes what the server sends.

const take = (message) => {
  root.dataset.live = message ? "on" : "off";
  if (!message) return;
  const mine = message.epoch && message.epoch != epoch ? [...edits.values()] : 0;
  if (mine) {
    // Another server: it knows nothing of what was typed, and what was clicked wasn't for it.
    edits.clear();
    queue = [];
    flight = 0;
    epoch = message.epoch;
    sequence = message.a;
  }
  edits.forEach((edit) => (edit.isDone ||= edit.seq <= message.a));
  const changes = {};
  for (const operation of message.l ?? [])
    (changes[operation[1]] ??= []).push(change(...operation));
  accept(page, message.v);
  for (const { scope, name, value } of mine || [])
    if (name in scope.values && scope.values[name] != value) set(scope, name, value);
  update();
  for (const name in changes)
    listOf(name).observers.forEach((observer) => observer(changes[name]));
  send(message.epoch);
};

// Changes a list, and returns what observers are told.
const change = (verb, name, key, before, values) => {
  const { keys, rows, shows } = listOf(name);
  const index = keys.indexOf(key);
  const put = (key, values) => {
    if (!rows.has(key)) rows.set(key, scopeOf([name, key]));
    accept(rows.get(key), values);
  };
  let told = ["reset"];
  if (verb == "upd") {
    put(key, before);
    return ["update", key];
  }
  if (verb == "all") {
    const here = new Map(key);
    for (const key of rows.keys()) here.has(key) || rows.delete(key);
    here.forEach((values, key) => put(key, values));
    keys.splice(0, Infinity, ...here.keys());
  } else {
    if (index >= 0) keys.splice(index, 1);
    const place = before == null ? keys.length : keys.indexOf(before);
    if (verb == "del") {
      rows.delete(key);
      told = ["remove", key, index];
    } else {
      keys.splice(place, 0, key);
      put(key, values);
      told = values ? ["insert", key, place] : ["move", key, index, place];
    }
  }
  shows.forEach((show) => show(verb, key, before));
  return told;
};

// Elements.

const fill = (control, value) => {
  const { type, selectionStart } = control;
  if (type == "radio") control.checked = control.value == value;
  else if (type == "checkbox") control.checked = value;
  else if (control.value === "" || control.value != value) {
    control.value = value ?? "";
    if (selectionStart != null && control == document.activeElement)
      control.setSelectionRange(selectionStart, selectionStart);
  }
};

// What ends the bindings of an element.
const ends = new WeakMap();

// Binds an element and all in it to a row, or to the page; without a scope, to nothing.
const bind = (top, scope) => {
  ends.get(top)?.abort();
  if (!scope) return;
  const end = new AbortController();
  const { signal } = end;
  ends.set(top, end);
  const scopeFor = (name) => (name in scope.values ? scope : page);
  const watch = (name, show) => {
    if (!name) return;
    const { values, updates } = scopeFor(name);
    const each = () => name in values && show(values[name]);
    updates.add(each);
    signal.addEventListener("abort", () => updates.delete(each));
    each();
  };
  for (const element of [top, ...top.querySelectorAll("*")]) {
    const data = element.dataset;
    const pairs = (name, use) => {
      for (const [, what, path] of (data[name] ?? "").matchAll(/(\S+?):(\S+)/g)) use(what, path);
    };
    const on = (event, action) => element.addEventListener(event, action, { signal });
    watch(data.text, (value) => {
      if (element.textContent != (value ?? "")) element.textContent = value;
    });
    watch(data.show, (value) => (element.hidden = !value));
    watch(data.enabled, (value) => (element.disabled = !value));
    pairs("class", (name, path) =>
      watch(path, (value) => element.classList.toggle(name, !!value)));
    pairs("attr", (name, path) =>
      watch(path, (value) => {
        if (value === null || value === false) element.removeAttribute(name);
        else element.setAttribute(name, value === true ? "" : value);
      }));
    if (data.bind) {
      let timer;
      watch(data.bind, (value) => fill(element, value));
      on("input", () => {
        clearTimeout(timer);
        set(
          scopeFor(data.bind),
          data.bind,
          element.type == "checkbox" ? element.checked : element.value,
        );
        data.debounce ? (timer = setTimeout(send, data.debounce, true)) : send(true);
      });
      on("change", () => send(true));
    }
    pairs("on", (event, action) =>
      on(event, (happened) => {
        if (event == "submit") happened.preventDefault();
        const { arg } = data;
        queue.push([
          "call",
          pathOf(scopeFor(action + ".enabled"), action),
          arg ? [scopeFor(arg).values[arg]] : [],
        ]);
        send(true);
      }));
    if (data.each) repeat(element, data.each);
  }
};

// Shows a list: for each row a copy of the template's element, before the template.
const repeat = (template, name) => {
  const shown = new Map();
  const { keys, rows, shows } = listOf(name);
  const place = (key, before) => {
    const old = shown.get(key);
    const next = shown.get(before) ?? template;
    const element = old ?? template.content.firstElementChild.cloneNode(true);
    shown.set(key, element);
    if (!old) bind(element, rows.get(key));
    if (element.nextSibling != next)
      // What is moved keeps the focus, where browsers can do that.
      template.parentNode[old?.moveBefore ? "moveBefore" : "insertBefore"](element, next);
  };
  const drop = (key) => {
    bind(shown.get(key));
    shown.get(key).remove();
    shown.delete(key);
  };
  shows.add((verb, key, before) => {
    if (verb == "del") drop(key);
    else if (verb != "all") place(key, before);
    else {
      for (const key of shown.keys()) rows.has(key) || drop(key);
      keys.reduceRight((next, key) => (place(key, next), key), null);
    }
  });
};

// For scripts that show lists in their own way.

export const live = {
  // The rows of a list, as they are now.
  list(name) {
    const { keys, rows, observers } = listOf(name);
    return {
      get count() {
        return keys.length;
      },
      keyAt: (index) => keys[index],
      rowAt: (index) => rows.get(keys[index])?.values,
      // Calls with the changes of each patch, in order. Returns what ends it.
      subscribe(observer) {
        observers.add(observer);
        return () => observers.delete(observer);
      },
    };
  },
  // Binds an element, and all in it, to a row; or to none, with a key that isn't there.
  render: (element, name, key) => bind(element, listOf(name).rows.get(key)),
};

// The beginning.

const start = () => {
  const { page: name } = root.dataset;
  let timer, isHere;
  const appear = (isThere) => {
    clearTimeout(timer);
    if (isHere != isThere) port.postMessage([(isHere = isThere), tab]);
  };
  const listen = (to) => {
    port = to;
    port.onmessage = ({ data }) => take(data);
    isHere = false;
    appear(true);
  };
  const alone = () => {
    const { port1, port2 } = new MessageChannel();
    serve()(port1);
    listen(port2);
  };
  tab = (name ? name + "." : "") + crypto.getRandomValues(new Uint32Array(4)).join("-");
  bind(root, page);
  try {
    const worker = new SharedWorker(import.meta.url, { type: "module" });
    worker.onerror = alone;
    listen(worker.port);
  } catch {
    alone();
  }
  const look = () => (document.hidden ? (timer = setTimeout(appear, 3e4, false)) : appear(true));
  addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  addEventListener("pagehide", () => appear(false));
};

if (root) start();
else {
  const connect = serve();
  self.onconnect = ({ ports: [port] }) => connect(port);
}
