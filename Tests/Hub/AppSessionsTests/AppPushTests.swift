import AppMachines
import Testing

@testable import AppSessions

@Suite struct AppPushTests {
  private static func error(
    _ payload: String, _ change: (inout AppPush) -> Void = { _ in }
  ) -> AppPushError? {
    var push = AppPush(to: .app("com.example.news"), payload: payload, identifier: "1")
    change(&push)
    do throws(AppPushError) { _ = try push.notification() } catch { return error }
    return nil
  }

  private static let alert = #"{"aps":{"alert":"Hi"}}"#
  private static let silent = #"{"aps":{"content-available":1}}"#

  @Test func `A payload of 4,096 bytes is taken, and a longer one refused`() throws {
    let head = #"{"aps":{"alert":""#
    let tail = #""}}"#
    let text = String(repeating: "x", count: 4_096 - head.utf8.count - tail.utf8.count)
    #expect(Self.error(head + text + tail) == nil)
    #expect(Self.error(head + text + "x" + tail) == .payloadTooLarge(byteCount: 4_097))
    #expect(Self.error("") == .payloadEmpty)
  }

  @Test(arguments: ["x", "[]", "{", "1", #""aps""#, String(repeating: "[", count: 4_000)])
  func `A payload that is no JSON object is refused`(_ payload: String) {
    #expect(Self.error(payload) == .malformedPayload)
  }

  @Test func `A payload without the dictionary aps is refused`() {
    #expect(Self.error("{}") == .missingAPS)
    #expect(Self.error(#"{"aps":1}"#) == .missingAPS)
  }

  @Test func `Headers that Apple's service refuses are refused`() {
    #expect(Self.error(Self.alert) { $0.identifier = "" } == .badIdentifier)
    #expect(
      Self.error(Self.alert) { $0.collapseIdentifier = String(repeating: "x", count: 65) }
        == .badCollapseIdentifier)
    #expect(Self.error(Self.alert) { $0.expiration = -1 } == .badExpiration)
    #expect(Self.error(Self.alert) { $0.expiration = .nan } == .badExpiration)
    #expect(Self.error(Self.alert) { $0.priority = 7 } == .badPriority)
    #expect(Self.error(Self.silent) { ($0.kind, $0.priority) = (.background, 10) } == .badPriority)
    #expect(Self.error(Self.alert) { $0.kind = .background } == .badKind)
    #expect(Self.error(Self.silent) { $0.kind = .alert } == .badKind)
    #expect(Self.error(Self.silent) { ($0.kind, $0.priority) = (.background, 5) } == nil)
    #expect(AppPushError.badKind.reason == "InvalidPushType")
    #expect(AppPushError.payloadEmpty.sentence == "the payload is empty (PayloadEmpty)")
  }

  @Test(
    arguments: [
      (#"{"aps":{"alert":"Hi"}}"#, "", "Hi"),
      (#"{"aps":{"alert":{"title":"News","body":"Hi"}}}"#, "News", "Hi"),
      (#"{"aps":{"alert":7,"badge":1}}"#, "", ""),
    ])
  func `The text of an alert is its title and body`(
    _ payload: String, _ title: String, _ body: String
  )
    throws
  {
    let push = AppPush(to: .app("a"), payload: payload, identifier: "1")
    #expect(try push.notification().alertText == AppAlertText(title: title, body: body))
  }

  @Test func `A notification with times that are no numbers is an event, too`() {
    var notification = AppNotification(
      "n", .local(seconds: .infinity, repeats: true), contents: [1])
    notification.date = -.infinity
    #expect(AppNotification(payload: notification.event().payload) == notification)
  }
}
