// Binds a page to the view model that a server shows: <script type="module" src="binding.js">.
// The attributes, and `live` for scripts, are described in the documentation of Binding.

// A shared worker has no document.
const doc = self.document;
const root = doc?.documentElement;
const beside = (name) => new URL(name, import.meta.url);
// Whether a server that gives this answer, or none, may do better later: it fails, or has had too much at once.
const isLater = (status) => !status || status > 499 || [408, 425, 429].includes(status);
// Whether an answer is a refusal: no conflict, and nothing that is tried again.
const isRefusal = (status) => !isLater(status) && status != 204 && status != 409;

// Sends something, and returns the status of the answer; 0 without one. Browsers keep no more than 64 kB for a page that
// is left, and a character has up to three bytes.
const ask = (url, time, body) =>
  fetch(url, {
    method: "POST",
    body,
    keepalive: body?.length < 2e4,
    signal: AbortSignal.timeout(time),
  }).then(({ status }) => status, () => 0);

// A pause after one more failure.
const longer = (pause) => Math.min(2 * pause, 3e3);
// Not all browsers at once.
const jitter = (time) => time * (0.5 + Math.random());

// The stream is one for all tabs of a browser, since browsers open few connections to a server. It
// runs in a shared worker, or in the page where there are none. Opening it anew brings snapshots.

const serve = () => {
  const ports = new Map();
  let source, timer, silence, began, tick, isMute;
  let pause = 300;
  const tell = (state) => ports.forEach((port) => port.postMessage(state));
  // A stream has room for 64 tabs: those that came last.
  const address = () => {
    const tabs = [...ports.keys()].slice(-64);
    // A server refuses long addresses.
    let room = 2e4;
    const queries = tabs.map((tab) => {
      const query = encodeURIComponent(ports.get(tab).query);
      return (room -= query.length) < 0 ? "" : query;
    });
    return beside("live?tab=" + tabs + "&at=" + encodeURIComponent(queries));
  };
  const open = async () => {
    source &&= source.close();
    silence = began = tick = 0;
    if (!ports.size) return;
    // A stream alone is no connection, where nothing that the page sends arrives.
    if (isMute && !(await beat())) {
      tell(0);
      return openIn(3e3);
    }
    if (source) return;
    source = new EventSource(address());
    for (const kind of ["snap", "patch", "beat"])
      source.addEventListener(kind, ({ data }) => {
        const message = JSON.parse(data);
        silence = 0;
        began ||= Date.now();
        ports.get(message.tab)?.postMessage(message);
      });
    // It is closed if the server has answered, and refuses.
    source.onerror = ({ target }) => lose(target.readyState > 1);
  };
  const openIn = (time) => {
    clearTimeout(timer);
    timer = setTimeout(open, jitter(time));
  };
  const lose = async (isRefused) => {
    source = source.close();
    // Not all browsers at once, when the server was away, and not often, where it stays away.
    pause = began && Date.now() - began > 5e3 ? 300 : longer(pause);
    const status = isRefused ? await beat() : 503;
    // A tab may have come meanwhile.
    if (source) return;
    tell(isRefusal(status) ? status : 0);
    openIn(pause);
  };
  // A sign of life for the server. Its answer has the status that an event source keeps to itself. Without an answer, one
  // of the page to the server is missing: a second one finds out, within 25 seconds in all.
  const beat = async (isSecond) => {
    const before = source;
    const status = await ask(address(), 5e3);
    isMute = !status;
    if (source && source == before) {
      if (isMute && !isSecond) return beat(1);
      // The server doesn't have this stream any more, or gets nothing.
      if (isMute || status == 409) lose();
    }
    return status;
  };
  // The server gives a sign of life every 10 seconds, and gets one every 15.
  setInterval(() => {
    if (!source) return;
    if (silence++ > 3) lose();
    else if (began && tick++ % 3 == 0) beat();
  }, 5e3);
  return (port) => {
    port.onmessage = ({ data: [isHere, tab, query] }) => {
      // Of each tab, the last document.
      for (const each of ports.keys())
        if (each == tab || (isHere && each.split("~")[0] == tab.split("~")[0])) ports.delete(each);
      if (isHere) {
        ports.set(tab, port);
        port.query = query?.length < 1e3 ? query : "";
      }
      openIn(0);
    };
  };
};

// The page and each row of its lists are a scope: values by name, and what shows them.

// A row of a row's list has the outer row above it.

const scopeOf = (at) => ({ at, cells: {}, updates: new Set() });
const page = scopeOf([]);
const lists = {};
const listOf = (name) =>
  (lists[name] ??= { order: [], rows: new Map(), shows: new Set(), observers: new Set() });
const pathOf = (scope, name) => (scope.at[0] ? [...scope.at, name] : name);

// The state of the stream, and whether a message got no answer.
let link, isMute;
// Elements with `data-when` are shown in one state of the connection. A page without any gets a line for each
// state, which is read out, too: a page that only dims is silent to those that don't see it.
let state = "on";
const showState = () => {
  const shown = isMute && link == "on" ? "off" : link;
  mark(root, "data-live", shown);
  const now = shown == "on" && root.dataset.refusal ? "denied" : shown;
  if (state == now) return;
  state = now;
  for (const element of doc.querySelectorAll("[data-when]"))
    element.hidden = element.dataset.when != state;
};
// What the server has refused: files, by their inputs, and before them the last message or the stream (0), which
// forgets the files.
const refusals = new Map();
const deny = (by, status) => {
  by ? refusals.delete(by) : refusals.clear();
  status && refusals.set(by, status);
  mark(root, "data-refusal", [...refusals.values()].pop());
  showState();
};
const addLines = () => {
  const again = " Trying again …";
  if (doc.querySelector("[data-when]")) return;
  for (const [when, text] of [
    ["off", "The server doesn’t answer." + again],
    ["refused", "The server refuses this page." + again],
    ["denied", "The server has refused the last input."],
  ]) {
    const line = doc.createElement("p");
    line.textContent = text;
    line.lang = "en";
    line.dataset.when = when;
    mark(line, "role", "alert");
    doc.body.append(line);
  }
};

// What was typed. Until it is acknowledged, the server's value of it is ignored; and for as long as it
// holds, it is typed again into a server that was started anew.
const edits = new Map();
const changed = new Set();
let port, tab, epoch, model, sequence, flight, isDue, retry, composing, entered;
let pause = 250;
let queue = [];

const random = (count) => crypto.getRandomValues(new Uint32Array(count)).join("-");

// Calls what others have written, or the browser may refuse: an error is theirs, and stops nothing else.
const guarded = (action, ...given) => {
  try {
    action(...given);
  } catch (error) {
    reportError(error);
  }
};

const update = () => {
  changed.forEach((scope) => scope.updates.forEach((each) => each()));
  changed.clear();
};

const mark = (element, name, value) => {
  (value ?? false) === false
    ? element.removeAttribute(name)
    : element.setAttribute(name, value === true ? "" : value);
};

const markPending = (element, isPending) => mark(element, "data-pending", isPending);

const markRefused = (element, why) => {
  mark(element, "data-refused", why);
  mark(element, "aria-invalid", why != null && "true");
};

const accept = (scope, values) => {
  for (const name in values) {
    const id = scope.at + "/" + name;
    const edit = edits.get(id);
    if (edit) {
      edit.was = values[name];
      const refusal = name + ".refusal";
      if (edit.isDone) edit.refused = (refusal in values ? values : scope.cells)[refusal];
      else if (!edit.refused) continue;
      // What was refused stays in its field, but not in another row of the same key. Fields have texts, also of numbers.
      if (!(edit.refused && edit.scope == scope) && edit.typed != values[name]) edits.delete(id);
    }
    scope.cells[name] = values[name];
    changed.add(scope);
  }
};

const set = (scope, name, value) => {
  const id = scope.at + "/" + name;
  const old = edits.get(id);
  let op = old?.op;
  // Of each path the last value is sent, but none passes an action.
  queue.indexOf(op) > queue.findLastIndex(([verb]) => verb == "call")
    ? (op[2] = value)
    : queue.push((op = ["set", pathOf(scope, name), value]));
  edits.set(id, { scope, field: name, typed: value, op, was: old ? old.was : scope.cells[name] });
  scope.cells[name] = value;
  changed.add(scope);
};

// Sends what is due, one message at a time: no more than the server takes of one. `before` has the
// operations of the message before, if it may not have arrived.

const send = (now, before) => {
  isDue = queue[0] && (isDue || now);
  if ((flight && !before) || !isDue || !epoch) return;
  const ops = [];
  for (let size = 0; queue[0] && ops.length < 256 && size < 2e4; ops.push(queue.shift()))
    size += JSON.stringify(queue[0]).length;
  flight = { tab, epoch, seq: ++sequence, ops, before };
  edits.forEach((edit) => ops.includes(edit.op) && (edit.sentIn = sequence));
  isDue = queue[0];
  post(flight);
};

// Browsers submit no form whose button is disabled, which a server enables by what it knows of the fields.
// Enter submits it as soon as the server has the typed text, if the button is enabled by that.
const enter = ({ key, isComposing, target: { tagName, form } }) => {
  entered = 0;
  if (key != "Enter" || isComposing || tagName != "INPUT" || !form) return;
  const button = [...form.elements].find(({ type }) => type == "submit");
  if (button?.disabled && button.dataset.enabled) entered = button;
  send(entered);
};
const submitEntered = () => {
  if (!entered || [...edits.values()].some((edit) => !edit.isDone && !edit.refused)) return;
  entered.disabled || entered.form.requestSubmit(entered);
  entered = 0;
};

const post = async (message) => {
  retry = 0;
  const status = await ask(beside("live"), 2e4, JSON.stringify(message));
  if (flight != message) return;
  isMute = !status;
  showState();
  if (isLater(status)) {
    pause = longer(pause);
    return (retry = setTimeout(post, jitter(pause), message));
  }
  pause = 250;
  // Another session, for which all is typed again.
  if (status == 409 || status == 401) {
    port.postMessage([true, tab, address()]);
    return (epoch = 0);
  }
  deny(0, status != 204 && status);
  if (status != 204) {
    // What was refused stays in its fields, and nowhere else; its number is the next one's.
    edits.forEach((edit) => {
      if (edit.sentIn == sequence) {
        edit.scope.cells[edit.field] = edit.was;
        edit.sentIn = 1 / 0;
        edit.refused = status;
        changed.add(edit.scope);
      }
    });
    sequence--;
    update();
  }
  flight = 0;
  send();
};

// The page's address from the server's root on, which its view model is made for.
const address = () => location.pathname.slice(beside(".").pathname.length) + location.search;

// Values that are parts of the address: a typed address and Back set them, and their changes are steps in
// the browser's history.
const queries = [];
let isFollowing, stepped;
const inAddress = (value) => (value || value === 0 ? "" + value : "");
const follow = (isFirst) => {
  const given = new URLSearchParams(location.search);
  let isSet;
  for (const [name, path] of queries) {
    const text = given.get(name) ?? "";
    const value = page.cells[path];
    if (inAddress(value) == text || (isFirst && !text)) continue;
    set(page, path, typeof value == "boolean" ? text == "true" : text);
    isSet = true;
  }
  isFollowing = true;
  stepped = 0;
  update();
  isSet && send(true);
};
const record = (isStep) => {
  const url = new URL(location);
  const { searchParams } = url;
  for (const [name, path] of queries) {
    const text = inAddress(page.cells[path]);
    if (text == (searchParams.get(name) ?? "")) continue;
    text ? searchParams.set(name, text) : searchParams.delete(name);
    // A text that is being typed is one step, until its field is left.
    const { activeElement } = doc;
    if (activeElement?.dataset.bind != path || activeElement.type.match(/box|one|radio/)) continue;
    isStep &&= stepped != activeElement;
    stepped = activeElement;
  }
  url.href == location.href || history[isStep ? "pushState" : "replaceState"](0, "", url);
};

// Takes what the server sends.

const take = (message) => {
  const isOn = message.tab;
  link = isOn ? "on" : message ? "refused" : "off";
  if (message.epoch) {
    clearTimeout(retry);
    isMute = 0;
  }
  isOn && !message.epoch ? showState() : deny(0, message > 0 && message);
  if (!isOn) return;
  const mine = [];
  if ((message.epoch ?? epoch) != epoch) {
    // Another session. What was clicked wasn't for it. What was typed another view model knows nothing of;
    // the same one lacks what it hasn't acknowledged.
    edits.forEach((edit, id) =>
      edit.refused || edit.isDone && message.model == model ||
        mine.push(edit) && edits.delete(id));
    queue = [];
    flight = retry = entered = 0;
    ({ epoch, model, a: sequence } = message);
  } else if (message.epoch && retry) post(flight);
  edits.forEach((edit) => {
    if (edit.isDone || !(edit.sentIn <= message.a)) return;
    edit.isDone = true;
    changed.add(edit.scope);
  });
  const changes = {};
  for (const operation of message.l ?? [])
    (changes[operation[1]] ??= []).push(change(...operation));
  accept(page, message.v);
  for (const { scope, field, typed } of mine)
    field in scope.cells && scope.cells[field] != typed && set(scope, field, typed);
  update();
  const isStep = isFollowing;
  isFollowing || follow(true);
  record(isStep);
  for (const name in changes)
    listOf(name).observers.forEach((observer) => guarded(observer, changes[name]));
  guarded(submitEntered);
  send(message.epoch);
};

// Changes a list, and returns what observers are told.
const change = (verb, name, key, before, values) => {
  const { order, rows, shows } = listOf(name);
  const index = order.indexOf(key);
  const put = (key, values) => {
    rows.has(key) || rows.set(key, scopeOf([name, key]));
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
    order.splice(0, 1 / 0, ...here.keys());
  } else {
    index < 0 || order.splice(index, 1);
    const place = before == null ? order.length : order.indexOf(before);
    if (verb == "del") {
      rows.delete(key);
      told = ["remove", key, index];
    } else {
      order.splice(place, 0, key);
      put(key, values);
      told = values ? ["insert", key, place] : ["move", key, index, place];
    }
  }
  shows.forEach((show) => guarded(show, verb, key, before));
  return told;
};

// Sends a file in parts, and returns the last status; or 0, if the browser can't read the file any more. The
// first part is empty, and announces it. All files together send one part at a time, so that they take turns.

let turn = Promise.resolve();
const upload = async ([list, row], own, file) => {
  const name = list ? list + "." + own : own;
  const id = random(2);
  let start = 0;
  let size = 0;
  let most = 262144;
  let wait = 250;
  for (;;) {
    let end = "";
    const body = await file.slice(start, start + size).arrayBuffer().catch(() => (end = 1));
    const query = new URLSearchParams({
      tab, epoch, upload: name, row: row ?? "", file: id, "at": start, of: file.size,
      name: file.name, type: file.type, end,
    });
    const began = Date.now();
    const status = await (turn = turn.then(() =>
      ask(beside("live?" + query), 3e4, end ? "" : body)));
    if (end) return 0;
    if (status == 204) {
      start += size;
      if (start >= file.size) return status;
      wait = 250;
      // A part has 30 seconds: as large as the network is fast, and not larger than a message.
      if (Date.now() - began < 2e3) size = Math.min(2 * size || 16384, most);
    } else if (status == 413 && size > 4096) {
      // A proxy takes less at a time. The server itself refuses a file that is too large before its first byte.
      most = size = Math.max(size >> 1, 4096);
    } else if ((isRefusal(status) && status != 401) || status == 507) return status;
    else {
      // Another session, or none now: the file begins anew there, as all that was typed is typed again.
      if (status == 409 || status == 401) start = size = 0;
      size &&= Math.max(size >> 1, 4096);
      await new Promise((go) => setTimeout(go, jitter(wait)));
      wait = longer(wait);
    }
  }
};

// Elements.

const fill = (control, value) => {
  const { type, selectionStart } = control;
  // What composes is the input method's, and a file the user's.
  if (control == composing || type == "file") return;
  if (type == "radio") control.checked = control.value == value;
  else if (type == "checkbox") control.checked = value;
  else if (control.value === "" || control.value != value) {
    control.value = value ?? "";
    selectionStart != null &&
      control == doc.activeElement &&
      control.setSelectionRange(selectionStart, selectionStart);
  }
};

// The parts of an attribute such as `click:send`.
const pairsIn = (text) => (text ?? "").matchAll(/(\S+?):(\S+)/g);

// What ends the bindings of an element.
const ends = new WeakMap();

// Binds an element and all in it to a row, or to the page; without a scope, to nothing.
const bind = (top, scope) => {
  ends.get(top)?.abort();
  if (!scope) return;
  // It has a signal, as options of listeners have.
  const end = new AbortController();
  ends.set(top, end);
  const scopeFor = (name, from = scope) =>
    name in from.cells ? from : from.above ? scopeFor(name, from.above) : page;
  const watch = (name, show) => {
    if (!name) return;
    const { at, cells, updates } = scopeFor(name);
    // A reason is for the page where the refused text is.
    const [field, rest] = name.split(".refusal");
    const each = () =>
      name in cells &&
      guarded(show, (rest !== "" || edits.get(at + "/" + field)?.refused) && cells[name]);
    updates.add(each);
    end.signal.addEventListener("abort", () => updates.delete(each));
    each();
  };
  for (const element of [top, ...top.querySelectorAll("*")]) {
    const data = element.dataset;
    const pairs = (name, use) => {
      for (const [, what, path] of pairsIn(data[name])) use(what, path);
    };
    const on = (event, action) => element.addEventListener(event, action, end);
    watch(data.text, (value) => {
      if (element.textContent != (value ?? "")) element.textContent = value;
    });
    watch(data.show, (value) => {
      const appears = element.hidden && value;
      element.hidden = !value;
      // What had the focus may just have gone.
      if (appears) (element.autofocus ? element : element.querySelector("[autofocus]"))?.focus();
    });
    watch(data.enabled, (value) => (element.disabled = !value));
    pairs("class", (name, path) =>
      watch(path, (value) => element.classList.toggle(name, !!value)));
    pairs("attr", (name, path) =>
      watch(path, (value) => mark(element, name, value)));
    const path = data.bind;
    if (path) {
      let timer, isBlank, before;
      const value = () => (element.type == "checkbox" ? element.checked : element.value);
      const edited = () => edits.get(scopeFor(path).at + "/" + path);
      const shown = () => (edited()?.refused ? edited().typed : scopeFor(path).cells[path]);
      const show = () => {
        isBlank || fill(element, shown());
        const edit = edited();
        const refused = edit?.refused;
        markPending(element, edit && !edit.isDone && !refused);
        // In quotes, as the property of this name is short.
        refused == data["refused"] || markRefused(element, refused);
      };
      const take = () => {
        clearTimeout(timer);
        // A number that is being typed: "" also stands for "-".
        isBlank = element.type == "number" && element.value === "";
        set(scopeFor(path), path, value());
      };
      const input = () => {
        if (element == composing) return;
        take();
        update();
        data.debounce ? (timer = setTimeout(send, data.debounce, true)) : send(true);
      };
      watch(path, show);
      on("input", input);
      on("change", () => send(true));
      on("blur", () => (isBlank &&= fill(element, shown())));
      on("compositionstart", () => {
        composing = element;
        before = element.value;
      });
      on("compositionend", () => {
        composing = 0;
        element.value == before ? show() : input();
      });
      on("wasreset", () => {
        (element.type != "radio" || element.checked) && "" + value() != "" + (shown() ?? "") && take();
      });
    }
    if (data.upload) {
      let count = 0;
      const refuse = (status) => {
        markRefused(element, status);
        // Also in words; but the server has refused nothing of a file that the browser can't read.
        status === 0 || deny(element, status);
      };
      // So that the same file can be chosen again.
      on("click", () => (element.value = ""));
      on("change", () => {
        refuse();
        for (const file of element.files) {
          count++;
          const { at } = scopeFor(data.upload + ".receiving");
          upload(at, data.upload, file).then((status) => {
            markPending(element, --count > 0);
            // What was cancelled is gone (410).
            status == 204 || status == 410 || refuse(status);
          });
        }
        markPending(element, count > 0);
      });
    }
    pairs("on", (event, action) => {
      const act = (happened) => {
        // A key that the input method takes, or text that it still changes.
        if (happened.isComposing) return;
        event == "submit" && happened.preventDefault();
        const { arg } = data;
        queue.push([
          "call",
          pathOf(scopeFor(action + ".enabled"), action),
          arg ? [scopeFor(arg).cells[arg]] : [],
        ]);
        send(true);
      };
      on(event, act);
      event == "input" && on("compositionend", act);
    });
    if (data.each) repeat(element, data.each, scope, end.signal);
  }
};

// Shows a list: for each row a copy of the template's element, before the template. The lists of all rows
// of a list are one; the keys of each begin with the length of the outer row's key and with that key.
const repeat = (template, name, above, signal) => {
  const [outer, outerKey] = above.at;
  const shown = new Map();
  const { order, rows, shows } = listOf(outer ? outer + "." + name : name);
  const prefix = outer ? outerKey.length + ":" + outerKey : "";
  const place = (key, before) => {
    const row = rows.get(key);
    if (!row || !key.startsWith(prefix)) return;
    const old = shown.get(key);
    const next = shown.get(before) ?? template;
    const element = old ?? template.content.firstElementChild.cloneNode(true);
    shown.set(key, element);
    if (outer) row.above = above;
    old || bind(element, row);
    // What is moved keeps the focus, where browsers can do that.
    element.nextSibling == next ||
      template.parentNode[old?.moveBefore ? "moveBefore" : "insertBefore"](element, next);
  };
  const drop = (key) => {
    bind(shown.get(key));
    shown.get(key)?.remove();
    shown.delete(key);
  };
  const show = (verb, key, before) => {
    if (verb == "del") drop(key);
    else if (verb != "all") place(key, before);
    else {
      for (const key of shown.keys()) rows.has(key) || drop(key);
      order.reduceRight((next, key) => (place(key, next), key), null);
    }
  };
  shows.add(show);
  guarded(show, "all");
  signal.addEventListener("abort", () => {
    shows.delete(show);
    shown.forEach((_, key) => drop(key));
  });
};

// For scripts that show lists in their own way.

export const live = {
  // The rows of a list, as they are now.
  list(name) {
    const { order, rows, observers } = listOf(name);
    return {
      get count() {
        return order.length;
      },
      keyAt: (index) => order[index],
      rowAt: (index) => rows.get(order[index])?.cells,
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
    isHere == isThere || port.postMessage([(isHere = isThere), tab, address()]);
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
  // A tab keeps its key while its page is loaded again, and so its view model. While a document has
  // the key, a copy of the tab doesn't find it.
  const place = "binding." + name;
  let key;
  guarded(() => {
    const [{ type }] = performance.getEntriesByType("navigation");
    if (type != "navigate") key = sessionStorage[place];
    delete sessionStorage[place];
  });
  key ||= random(4);
  tab = (name ? name + "." : "") + key + "~" + random(1);
  for (const [, name, path] of pairsIn(root.dataset.query))
    queries.push([name, path]);
  bind(root, page);
  addLines();
  showState();
  try {
    const worker = new SharedWorker(import.meta.url, { type: "module" });
    worker.onerror = alone;
    listen(worker.port);
  } catch {
    alone();
  }
  const look = () => (doc.hidden ? (timer = setTimeout(appear, 3e4, 0)) : appear(true));
  const on = addEventListener;
  on("visibilitychange", look);
  on("popstate", () => isFollowing && follow());
  on("keydown", enter);
  on("focusout", () => (entered = stepped = 0));
  on("pageshow", ({ persisted }) => {
    persisted && guarded(() => delete sessionStorage[place]);
    look();
  });
  on("pagehide", () => {
    // What is in flight is sent again with the rest, for nothing waits for its answer any more.
    send(true, flight?.ops);
    appear(0);
    guarded(() => (sessionStorage[place] = key));
    navigator.sendBeacon(beside("live?left=" + tab));
  });
  // The form is reset after the event.
  on("reset", ({ target }) =>
    setTimeout(() => {
      for (const control of target.elements) control.dispatchEvent(new Event("wasreset"));
      update();
      send(true);
    }));
};

if (root) start();
else {
  const connect = serve();
  onconnect = ({ ports: [port] }) => connect(port);
}
