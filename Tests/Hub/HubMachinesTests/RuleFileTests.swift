import Foundation
import Testing

@testable import HubMachines

@Suite("Files of a hub's rules")
struct RuleFileTests {
  /// A machine with two accounts.
  struct Names: AccountNames {
    var areAllKnown = false
    func userID(of name: String) -> UInt32? { ["guide": 1_001, "nobody": 65_534][name] }
    func groupID(of name: String) -> UInt32? { name == "radio" ? 50 : nil }
  }

  private func rules(_ text: String) throws(HubRulesError) -> [HubRules.Rule] {
    try HubRules(parsing: Array(text.utf8), names: Names()).rules
  }

  private func error(_ bytes: [UInt8]) -> String? {
    do throws(HubRulesError) {
      _ = try HubRules(parsing: bytes, names: Names())
      return nil
    } catch { return error.description }
  }

  private func error(rule: String) -> String? {
    error(Array("{\"rules\": [\(rule)]}".utf8))
  }

  @Test("a file has its rules in order, with the numbers of its names")
  func reading() throws {
    let found = try rules(
      """
      {
        "rules": [
          { "access": "deny", "group": "radio", "socket": "guests" },
          { "access": "allow", "user": "guide", "unit": "guide.service",
            "quotas": { "connections": 2, "links": 3, "scans": 0, "services": 4,
              "serviceBytes": 5, "advertisements": 1, "queuedBytes": 100000, "keep": 60,
              "networkRequests": 6 } },
          { "access": "allow", "user": 1002, "unit": "user@1002.service/guide.service" },
          { "access": "allow", "user": 1003, "pairings": true },
          { "access": "deny" }
        ]
      }
      """)
    var quotas = HubQuotas()
    quotas.connectionCount = 2
    quotas.linkCount = 3
    quotas.scanCount = 0
    quotas.serviceCount = 4
    quotas.serviceByteCount = 5
    quotas.advertisementCount = 1
    quotas.queuedByteCount = 100_000
    quotas.keptSeconds = 60
    quotas.networkRequestCount = 6
    #expect(
      found == [
        HubRules.Rule(.deny, groupID: 50, socket: "guests"),
        HubRules.Rule(.allow, userID: 1_001, unit: "guide.service", quotas: quotas),
        HubRules.Rule(.allow, userID: 1_002, unit: "user@1002.service/guide.service"),
        HubRules.Rule(.allow, userID: 1_003, attendsPairings: true),
        HubRules.Rule(.deny),
      ])
    #expect(try rules("{\"rules\": []}").isEmpty)
  }

  @Test("the example is a file of rules, and the page about them shows it")
  func example() throws {
    struct MuseumNames: AccountNames {
      let areAllKnown = false
      func userID(of name: String) -> UInt32? { name == "kiosk" ? 1_005 : nil }
      func groupID(of name: String) -> UInt32? { name == "bluetooth" ? 120 : nil }
    }
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appending(path: "Examples/hub/rules.json"), encoding: .utf8)
    let rules = try HubRules(parsing: Array(text.utf8), names: MuseumNames())
    #expect(rules.rules.map(\.access) == [.deny, .allow, .allow, .allow])
    #expect(rules.rules[2].groupID == 120 && rules.rules[2].quotas.advertisementCount == 0)
    let guide = HubPeer(userID: 1_005, processID: 1, units: ["museum-guide.service"])
    guard case .denied = rules.verdict(on: guide, hubUserID: 0) else {
      Issue.record("the kiosk's user is allowed by the second rule")
      return
    }
    let page = try String(contentsOf: root.appending(path: "docs/hub-rules.md"), encoding: .utf8)
    #expect(page.contains("```json\n\(text)```"))
  }

  @Test("a rule may have user 65534 where the hub knows all users, and not elsewhere")
  func nobody() throws {
    let text = "{\"rules\": [{\"access\": \"allow\", \"user\": \"nobody\"}]}"
    #expect(error(Array(text.utf8))?.contains("65534 is any user of another namespace") == true)
    let rules = try HubRules(parsing: Array(text.utf8), names: Names(areAllKnown: true))
    #expect(
      rules == HubRules([HubRules.Rule(.allow, userID: 65_534)], knowsAllAccounts: true))
  }

  @Test("a mistake is reported with its line, its column and the path of its value")
  func place() {
    let text =
      "{\"rules\": [\n  { \"access\": \"allow\" },\n  { \"access\": \"deny\", \"user\": \"bob\" }]}"
    #expect(
      error(Array(text.utf8))
        == "line 3, column 31: rules[1].user: \"bob\" is no user of this machine")
  }

  @Test(
    "a rule with a mistake is refused, with the expected value",
    arguments: [
      ("{}", "rules[0]: the key \"access\" is missing; expected \"allow\" or \"deny\""),
      ("7", "rules[0]: expected an object, found a number"),
      ("{\"access\": \"permit\"}", "rules[0].access: expected \"allow\" or \"deny\""),
      ("{\"access\": \"allow\", \"usr\": 7}", "unknown key \"usr\"; did you mean \"user\"?"),
      ("{\"access\": \"allow\", \"user\": \"1001\"}", "; a number has no quotes"),
      ("{\"access\": \"allow\", \"user\": 65534}", "rules[0].user: 65534 is any user of another"),
      ("{\"access\": \"allow\", \"group\": 65534}", "rules[0].group: 65534 is any group"),
      ("{\"access\": \"allow\", \"group\": \"guide\"}", "\"guide\" is no group of this machine"),
      ("{\"access\": \"allow\", \"user\": 4294967295}", "rules[0].user: expected a whole number"),
      ("{\"access\": \"allow\", \"user\": -1}", "rules[0].user: expected a whole number"),
      ("{\"access\": \"allow\", \"user\": 0.5}", "rules[0].user: expected a whole number"),
      ("{\"access\": \"allow\", \"user\": null}", "rules[0].user: expected a string, found null"),
      ("{\"access\": \"allow\", \"unit\": \"guide\"}", "rules[0].unit: expected a unit such as"),
      ("{\"access\": \"allow\", \"unit\": \"a.service/b.service/c.service\"}", "expected a unit"),
      ("{\"access\": \"allow\", \"unit\": \"../guide.service\"}", "expected a unit such as"),
      ("{\"access\": \"allow\", \"unit\": \"app.slice\"}", "expected a unit such as"),
      ("{\"access\": \"allow\", \"socket\": \"\"}", "rules[0].socket: expected 1 to 256 bytes"),
      ("{\"access\": \"deny\", \"quotas\": {}}", "a rule that denies has no quotas"),
      ("{\"access\": \"deny\", \"pairings\": true}", "a rule that denies has no pairings"),
      ("{\"access\": \"allow\", \"pairings\": 1}", "rules[0].pairings: expected true or false"),
      ("{\"access\": \"allow\", \"quotas\": {\"link\": 1}}", "rules[0].quotas: unknown key"),
      (
        "{\"access\": \"allow\", \"quotas\": {\"links\": 1025}}",
        "rules[0].quotas.links: expected a whole number from 0 to 1024"
      ),
      (
        "{\"access\": \"allow\", \"quotas\": {\"connections\": 0}}",
        "rules[0].quotas.connections: expected a whole number from 1 to 32"
      ),
      (
        "{\"access\": \"allow\", \"quotas\": {\"queuedBytes\": 1}}",
        "rules[0].quotas.queuedBytes: expected a whole number from 65536 to 16777216"
      ),
    ])
  func mistakes(rule: String, text: String) throws {
    let found = try #require(error(rule: rule))
    #expect(found.contains(text), "\(found)")
  }

  @Test("a zero in a name is refused, since the system would take the name to end there")
  func zero() {
    for key in ["user", "group", "socket", "unit"] {
      let found = error(rule: "{\"access\": \"allow\", \"\(key)\": \"guide\\u0000x\"}")
      #expect(found?.contains("rules[0].\(key): expected 1 to 256 bytes without control") == true)
    }
    #expect(error([0x7B, 0x00, 0x7D])?.contains("not JSON") == true)
  }

  @Test(
    "a text that is no file of rules is refused",
    arguments: [
      "", "[]", "null", "{\"rules\": 7}", "{\"rules\": [], \"rules\": []}",
      "{\"rules\": [{\"access\": \"deny\", \"access\": \"allow\"}]}", "{\"rules\": []} {}",
      "{\"rules\": [], \"version\": 1}", String(repeating: "[", count: 60_000),
      "{\"rules\": " + String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        + "}",
      "{\"rules\": [{\"access\": \"allow\", \"user\": 1e400}]}",
      "{\"rules\": [{\"access\": \"allow\", \"user\": 1e308}]}",
      "{\"rules\": [{\"access\": \"allow\", \"user\": 99999999999999999999}]}",
    ])
  func hostile(text: String) {
    #expect(error(Array(text.utf8)) != nil)
  }

  @Test("a file that is too long, and one rule too many, are refused")
  func bounds() {
    let long = Array("{\"rules\": []}".utf8) + [UInt8](repeating: 0x20, count: 64 << 10)
    #expect(error(long) == "a file of rules has at most 65536 bytes")
    let rule = "{\"access\": \"deny\"}"
    func list(_ count: Int) -> String {
      [String](repeating: rule, count: count).joined(separator: ",")
    }
    #expect(error(rule: list(256)) == nil)
    #expect(error(rule: list(257))?.contains("rules: at most 256 rules") == true)
  }
}
