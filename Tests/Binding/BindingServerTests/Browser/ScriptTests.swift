#if BindingServer
  import Binding
  import BindingServer
  import Testing
  import WebDriver

  /// The page's script with a scripted server.
  @Suite("The script of a page", .enabled(if: Browser.isExpected))
  struct ScriptTests {
    private static let stubs = """
      delete window.SharedWorker;
      window.streams = [];
      window.EventSource = class extends EventTarget {
        constructor(url) {
          super();
          this.tab = new URL(url).searchParams.get("tab");
          streams.push(this);
        }
        close() { this.isClosed = true; }
      };
      // The script's clock: each call of `tick` is five seconds.
      const every = window.setInterval;
      window.setInterval = (action, time) => {
        if (time != 5000) return every(action, time);
        window.tick = action;
      };
      window.beats = [];
      window.beatStatuses = [];
      window.posts = [];
      window.statuses = [];
      // Whether the network swallows what the page sends: the time limit of each request comes at once.
      window.isSwallowed = () => false;
      window.fetch = async (url, { body }) => {
        body
          ? posts.push({ ...JSON.parse(body), at: performance.now() })
          : beats.push(new URL(url).searchParams.get("tab"));
        if (isSwallowed(body)) throw new DOMException("", "TimeoutError");
        if (!body) return { status: beatStatuses.shift() ?? 204 };
        while (window.isHeld) await new Promise((done) => setTimeout(done, 5));
        return { status: statuses.shift() ?? 204 };
      };
      window.say = (kind, message) => {
        const stream = streams.at(-1);
        stream.dispatchEvent(
          Object.assign(new Event(kind), { data: JSON.stringify({ tab: stream.tab, ...message }) }));
      };
      window.snap = (epoch, model, values) => say("snap", {
        epoch, model, a: 0,
        v: { text: "", upper: "", count: 0, isOn: true, "clear.enabled": true, ...values },
        l: [["all", "rows", []]],
      });
      window.type = (selector, text) => {
        const field = document.querySelector(selector);
        field.value = text;
        field.dispatchEvent(new Event("input"));
      };
      window.soon = async (condition) => {
        const end = performance.now() + 60000;
        while (!condition() && performance.now() < end) {
          await new Promise((done) => setTimeout(done, 5));
        }
        return condition();
      };
      """

    /// Opens the page and waits for its stream request. `body` of scripts may use the names above.
    ///
    /// - Parameter end: The last elements of the page.
    private static func withPage(
      _ end: String = "", _ body: (Browser) async throws -> Void
    ) async throws {
      let site = Site.files(["index.html": Array((Desk.html("Desk") + end).utf8)])
      try await withServer(site: site, pages: { [Page("index.html") { Desk() }] }) { server in
        try await withBrowser { browser in
          try await browser.devTools(
            "Page.addScriptToEvaluateOnNewDocument", ["source": stubs])
          try await browser.navigate(to: server.address)
          try await browser.wait(until: "streams.length == 1")
          try await body(browser)
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    @Test("the script numbers messages anew in another session, and keeps others' later text")
    func session() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          snap("e1", "m1");
          type("#text", "mine");
          await soon(() => posts.length == 1);
          say("patch", { a: 1, v: { text: "mine", upper: "MINE" } });
          // Half an hour later: another session of the same view model.
          snap("e2", "m1", { text: "another's" });
          await soon(() => document.querySelector("#text").value != "mine");
          const shown = document.querySelector("#text").value;
          document.querySelector("#clear").click();
          await soon(() => posts.length == 2);
          return [shown, posts[1].epoch, `${posts[1].seq}`, JSON.stringify(posts[1].ops)];
          """)
        #expect(result == ["another's", "e2", "1", #"[["call","clear",[]]]"#])
      }
    }

    @Test(
      "the script types unacknowledged text again in another session, all of it in another model")
    func retyping() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          snap("e1", "m1");
          type("#text", "one");
          await soon(() => posts.length == 1);
          say("patch", { a: 1, v: { text: "one" } });
          type("#count", "7");
          await soon(() => posts.length == 2);
          snap("e2", "m1", { text: "one" });
          await soon(() => posts.length == 3);
          say("patch", { a: 1, v: { count: 7 } });
          snap("e3", "m2");
          await soon(() => posts.length == 4);
          return posts.slice(2).map(({ ops }) => JSON.stringify(ops));
          """)
        #expect(
          result == [#"[["set","count","7"]]"#, #"[["set","text","one"],["set","count","7"]]"#])
      }
    }

    @Test(arguments: [408, 425, 429])
    func `The script sends a message again that isn't taken now`(status: Int) async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          snap("e1", "m1");
          statuses.push(arguments[0]);
          type("#text", "again");
          await soon(() => posts.length == 2);
          return [...posts.map(({ seq, ops }) => `${seq} ${JSON.stringify(ops)}`),
            String(document.querySelector("#text").dataset.refused)];
          """, status)
        let message = #"1 [["set","text","again"]]"#
        #expect(result == [message, message, "undefined"])
      }
    }

    @Test("the script keeps and marks refused text, and sends what was done meanwhile")
    func refused() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const field = document.querySelector("#text");
          const marks = () => [
            field.value, field.getAttribute("data-refused"), field.ariaInvalid,
            document.documentElement.getAttribute("data-refusal"),
          ].join();
          snap("e1", "m1");
          statuses.push(413);
          isHeld = true;
          type("#text", "too long");
          await soon(() => posts.length == 1);
          type("#count", "7");
          document.querySelector("#clear").click();
          isHeld = false;
          await soon(() => posts.length == 2);
          say("patch", { a: 1, v: { text: "", count: 7 } });
          const first = marks();
          // Not typed again, and not lost, by another session of another view model.
          snap("e2", "m2");
          await soon(() => posts.length == 3);
          const second = marks();
          type("#text", "short");
          await soon(() => posts.length == 4);
          return [first, second, marks(), ...posts.slice(1).map(
            ({ seq, ops }) => `${seq} ${JSON.stringify(ops)}`)];
          """)
        #expect(
          result == [
            "too long,413,true,", "too long,413,true,", "short,,,",
            #"1 [["set","count","7"],["call","clear",[]]]"#, #"1 [["set","count","7"]]"#,
            #"2 [["set","text","short"]]"#,
          ])
      }
    }

    @Test("the script reports a refused click until another message is accepted")
    func refusedClick() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const refusal = () => document.documentElement.getAttribute("data-refusal");
          const isShown = () => !document.querySelector("[data-when=denied]").hidden;
          snap("e1", "m1");
          await soon(() => document.documentElement.dataset.live == "on");
          statuses.push(403);
          document.querySelector("#clear").click();
          await soon(refusal);
          const first = `${refusal()} ${isShown()}`;
          document.querySelector("#clear").click();
          await soon(() => !refusal());
          return [first, `${refusal()} ${isShown()}`, `${streams.length}`];
          """)
        #expect(result == ["403 true", "null false", "1"])
      }
    }

    @Test(arguments: [
      ("", "The server doesn’t answer. Trying again …", "en"),
      ("<p role=alert data-when=off hidden>Allein</p>", "Allein", ""),
    ])
    func
      `A page has a line for screen readers in each state of the connection, its own or the script's`(
        _ own: String, _ text: String, _ language: String
      ) async throws
    {
      try await Self.withPage(own) { browser in
        let result: [String] = try await browser.script(
          """
          const shown = () => [...document.querySelectorAll("[data-when]:not([hidden])")]
            .map((each) => `${each.role} ${each.lang} ${each.textContent}`).join();
          snap("e1", "m1");
          await soon(() => document.documentElement.dataset.live == "on");
          const first = shown();
          streams[0].onerror({ target: { readyState: 0 } });
          await soon(() => document.documentElement.dataset.live == "off");
          const second = shown();
          const [line] = document.querySelectorAll("[data-when=off]");
          const veil = () => getComputedStyle(document.documentElement, "::after").opacity;
          await soon(() => veil() == 0.5);
          await soon(() => line.checkVisibility({ visibilityProperty: true }));
          const { x, y } = line.getBoundingClientRect();
          const dimmed = `${veil()} ${document.elementFromPoint(x + 9, y + 9) == line}`;
          await soon(() => streams.length == 2);
          snap("e1", "m1");
          await soon(() => document.documentElement.dataset.live == "on");
          return [first, second, dimmed, shown()];
          """)
        #expect(result == ["", "alert \(language) \(text)", "0.5 true", ""])
      }
    }

    @Test("the script takes a server that is silent for 20 to 25 seconds for gone")
    func silence() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const state = () => document.documentElement.dataset.live;
          const ticks = (count) => { for (let each = 0; each < count; each++) tick(); };
          snap("e1", "m1");
          await soon(() => state() == "on");
          ticks(4);
          streams[0].dispatchEvent(Object.assign(new Event("beat"), { data: "1" }));
          ticks(4);
          const before = `${state()} ${!streams[0].isClosed}`;
          ticks(1);
          await soon(() => state() == "off" && streams.length == 2);
          const after = `${state()} ${!streams[0].isClosed}`;
          // A server that takes the connection and sends nothing.
          ticks(5);
          await soon(() => streams.length == 3);
          snap("e1", "m1");
          await soon(() => state() == "on");
          return [before, after, state(), beats[0] == streams[0].tab ? `${beats.length}` : ""];
          """)
        #expect(result == ["on true", "off false", "on", "3"])
      }
    }

    @Test(
      "the script shows within 25 seconds that nothing it sends arrives, and comes back by itself")
    func swallowedBeats() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const state = () => document.documentElement.dataset.live;
          const later = window.setTimeout;
          window.setTimeout = (action, time, ...rest) => later(action, time / 100, ...rest);
          snap("e1", "m1");
          await soon(() => state() == "on");
          tick();
          await soon(() => beats.length == 1);
          window.isSwallowed = () => true;
          type("#text", "kept");
          // The stream flows on. The next sign of life is 15 seconds later, and each has five.
          for (let each = 0; each < 3; each++) {
            say("patch", { v: { count: each } });
            tick();
          }
          await soon(() => state() == "off");
          const first = `${state()} ${streams.length} ${streams[0].isClosed}`;
          // No stream is opened that would look like a connection.
          await soon(() => beats.length > 6);
          const second = `${state()} ${streams.length}`;
          window.isSwallowed = () => false;
          await soon(() => streams.length == 2);
          snap("e1", "m1");
          await soon(() => state() == "on" && posts.at(-1).ops);
          await new Promise((done) => setTimeout(done, 500));
          say("patch", { a: 1, v: { text: "kept" } });
          await soon(() => !document.querySelector("#text").hasAttribute("data-pending"));
          return [first, second, state(), document.querySelector("#text").value,
            [...new Set(posts.map(({ seq, ops }) => `${seq} ${JSON.stringify(ops)}`))].join()];
          """)
        #expect(
          result == ["off 1 true", "off 1", "on", "kept", #"1 [["set","text","kept"]]"#])
      }
    }

    @Test(
      "the script shows that a message gets no answer although signs of life do, and sends it again"
    )
    func swallowedMessages() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const states = [];
          new MutationObserver(() => states.push(document.documentElement.dataset.live))
            .observe(document.documentElement, { attributeFilter: ["data-live"] });
          const state = () => states.at(-1);
          snap("e1", "m1");
          await soon(() => state() == "on");
          window.isSwallowed = (body) => body;
          type("#text", "kept");
          await soon(() => state() == "off");
          // What comes meanwhile is shown, and is no sign that the message has arrived.
          say("patch", { v: { count: 7 } });
          await soon(() => document.querySelector("#count").value == "7" && posts.length > 1);
          window.isSwallowed = () => false;
          await soon(() => state() == "on");
          // Of an answer that was lost.
          say("patch", { a: 1, v: { text: "kept" } });
          return [[...new Set(states)].join(), state(), `${streams.length}`,
            [...new Set(posts.map(({ seq, ops }) => `${seq} ${JSON.stringify(ops)}`))].join()];
          """)
        #expect(result == ["on,off", "on", "1", #"1 [["set","text","kept"]]"#])
      }
    }

    @Test("refused text is in its fields only: all else shows the value that holds")
    func refusedElsewhere() async throws {
      let end = #"<p id="shown-text" data-text="text"></p>"#
      try await Self.withPage(end) { browser in
        let result: [String] = try await browser.script(
          """
          const shown = () => [document.querySelector("#text").value,
            document.querySelector("#shown-text").textContent,
            document.querySelector("#text").getAttribute("data-refused")].join();
          snap("e1", "m1", { text: "held" });
          await soon(() => document.querySelector("#text").value == "held");
          statuses.push(413);
          type("#text", "too long");
          await soon(() => document.querySelector("#text").dataset.refused);
          const first = shown();
          say("patch", { v: { text: "another's" } });
          await soon(() => shown().includes("another's"));
          const second = shown();
          type("#text", "short");
          await soon(() => posts.length == 2);
          return [first, second, shown()];
          """)
        #expect(result == ["too long,held,413", "too long,another's,413", "short,short,"])
      }
    }

    @Test("the script waits longer after each failure, up to three seconds, and varies the time")
    func patience() async throws {
      try await Self.withPage { browser in
        let result: [[Int]] = try await browser.script(
          """
          const later = window.setTimeout;
          const times = [];
          window.setTimeout = (action, time, ...rest) => {
            if (time > 100) times.push(Math.round(time));
            return later(action, time / 100, ...rest);
          };
          const fail = async (count, chance) => {
            Math.random = () => chance;
            for (let each = 0; each < count; each++) {
              const before = streams.length;
              streams.at(-1).onerror({ target: { readyState: 0 } });
              await soon(() => streams.length > before);
            }
            return times.splice(0);
          };
          return [await fail(6, 0.5), await fail(1, 0), await fail(1, 1)];
          """)
        #expect(result == [[600, 1_200, 2_400, 3_000, 3_000, 3_000], [1_500], [4_500]])
      }
    }

    @Test(
      "the script tells a refused stream from a server that fails",
      arguments: [
        (401, "refused 401"), (403, "refused 403"), (502, "off null"), (409, "off null"),
        (429, "off null"),
      ])
    func refusedStream(_ status: Int, _ expected: String) async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          const state = () => document.documentElement.dataset.live
            + " " + document.documentElement.getAttribute("data-refusal");
          snap("e1", "m1");
          await soon(() => state().startsWith("on"));
          beatStatuses.push(arguments[0]);
          streams[0].onerror({ target: { readyState: 2 } });
          await soon(() => !state().startsWith("on"));
          const first = state();
          await soon(() => streams.length == 2);
          snap("e1", "m1");
          await soon(() => state().startsWith("on"));
          return [first, state()];
          """, status)
        #expect(result == [expected, "on null"])
      }
    }

    @Test("the script sends a message again as soon as it has a connection again")
    func reposting() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          snap("e1", "m1");
          statuses.push(503);
          // It would wait for an hour otherwise.
          Math.random = () => 1e4;
          type("#text", "again");
          await soon(() => posts.length == 1 && statuses.length == 0);
          // In a later task the script has its answer.
          await new Promise((done) => setTimeout(done, 5));
          snap("e1", "m1");
          await soon(() => posts.length == 2);
          return posts.map(({ seq, ops }) => `${seq} ${JSON.stringify(ops)}`);
          """)
        #expect(result == [#"1 [["set","text","again"]]"#, #"1 [["set","text","again"]]"#])
      }
    }

    @Test("the script connects again where the server knows nothing of its stream")
    func unknownStream() async throws {
      try await Self.withPage { browser in
        let count: Int = try await browser.script(
          """
          snap("e1", "m1");
          beatStatuses.push(409);
          tick();
          await soon(() => streams.length == 2);
          return streams.length;
          """)
        #expect(count == 2)
      }
    }

    @Test("the script keeps what was typed while the browser has no access")
    func lockedOut() async throws {
      try await Self.withPage { browser in
        let result: [String] = try await browser.script(
          """
          snap("e1", "m1");
          statuses.push(401);
          type("#text", "kept");
          await soon(() => streams.length == 2);
          const shown = document.querySelector("#text").value;
          snap("e2", "m2");
          await soon(() => posts.length == 2);
          return [shown, document.querySelector("#text").value, JSON.stringify(posts[1].ops)];
          """)
        #expect(result == ["kept", "kept", #"[["set","text","kept"]]"#])
      }
    }

    @Test("the script splits operations that are too large for one message")
    func several() async throws {
      try await Self.withPage { browser in
        let result: [[Int]] = try await browser.script(
          """
          snap("e1", "m1");
          isHeld = true;
          type("#text", "first");
          await soon(() => posts.length == 1);
          type("#text", "a".repeat(60000));
          document.querySelector("#clear").click();
          type("#text", "b".repeat(60000));
          for (let each = 0; each < 300; each++) document.querySelector("#clear").click();
          isHeld = false;
          await soon(() => posts.length == 5);
          return posts.map(({ seq, ops }) => [seq, ops.length]);
          """)
        #expect(result == [[1, 1], [2, 1], [3, 2], [4, 256], [5, 44]])
      }
    }

    @Test(
      "the script lets a field that waits for a pause wait, whatever the server sends meanwhile")
    func debounce() async throws {
      try await Self.withPage { browser in
        let times: [Double] = try await browser.script(
          """
          snap("e1", "m1");
          await soon(() => document.documentElement.dataset.live == "on");
          document.querySelector("#text").dispatchEvent(new Event("change"));
          type("#slow", "patience");
          const typed = performance.now();
          const traffic = setInterval(() => say("patch", { v: { count: posts.length } }), 10);
          await soon(() => posts.length > 0);
          clearInterval(traffic);
          return posts.map(({ at }) => at - typed);
          """)
        #expect(times.count == 1 && times.allSatisfy { $0 > 190 }, "\(times)")
      }
    }

    @Test("the script serves at most as many tabs as one stream takes: the latest ones")
    func manyTabs() async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          let seen: [Int] = try await browser.script(
            """
            const seen = new Set();
            const ports = Array.from({ length: 70 }, (_, index) => {
              const { port } = new SharedWorker("/binding.js", { type: "module" });
              port.onmessage = ({ data }) => data && seen.add(index);
              return port;
            });
            const hello = () => ports.forEach((port, index) => port.postMessage([true, `t${index}`]));
            const end = performance.now() + 60000;
            const until = async (condition) => {
              while (!condition() && performance.now() < end)
                await new Promise((done) => setTimeout(done, 5));
            };
            hello();
            await until(() => seen.has(69));
            // The stream was opened for the tabs that were there by then.
            seen.clear();
            hello();
            await until(() => seen.size == 64);
            return [...seen].sort((a, b) => a - b);
            """)
          #expect(seen == Array(6..<70))
        }
      }
    }
  }
#endif
