#if Messaging
  import AppSessions
  import Foundation
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Requests and notifications of a push gateway")
  struct GatewayRequestTests {
    private static func message(_ text: String) throws -> GatewayMessage {
      try GatewayRequest.message(
        Array(text.utf8), domain: try #require(JID("push.example")), now: 1_000_000)
    }

    @Test func `A message is read with its wishes, and with defaults`() throws {
      let short = try Self.message(#"{"to":"Bob@chat.example","body":"Hi"}"#)
      #expect(short.sender.description == "news@push.example")
      #expect(short.recipient.description == "bob@chat.example")
      #expect(short.target == nil && !short.isSilent && short.expiration == 1_000_000 + 86_400_000)
      #expect(short.id.utf8.count == 36)
      let token = String(repeating: "AB", count: 32)
      let long = try Self.message(
        """
        {"to":"bob@chat.example","body":"Hi","id":"7","from":"Orders","title":"Order","silent":true,
         "token":"\(token)","collapse-id":"c","expires":60}
        """)
      #expect(long.target == .token(token.lowercased()) && long.id == "7" && long.isSilent)
      #expect(long.sender.description == "orders@push.example" && long.title == "Order")
      #expect(long.collapseIdentifier == "c" && long.expiration == 1_060_000)
    }

    @Test(arguments: [
      "", "[]", "null", "{}", #"{"to":"push.example","body":"x"}"#, #"{"to":"bob@x","body":""}"#,
      #"{"to":"bob@x","body":"\u0000"}"#, #"{"to":"bob@x","body":7}"#,
      #"{"to":"bob@x","body":"x","id":"a/b"}"#, #"{"to":"bob@x","body":"x","from":"a@b"}"#,
      #"{"to":"bob@x","body":"x","id":""}"#, #"{"to":"bob@x","body":"x","id":"a b"}"#,
      #"{"to":"bob@x","body":"x","from":"a/b"}"#, #"{"to":"bob@x","body":"x","token":"ab"}"#,
      #"{"to":"bob@x","body":"x","app":""}"#, #"{"to":"bob@x","body":"x","app":"a\u0000"}"#,
      #"{"to":"bob@x","body":"x","title":"a\u0000"}"#,
      #"{"to":"bob@x","body":"x","collapse-id":"a\u0000"}"#,
      #"{"to":"bob@x","body":"x","expires":0}"#,
      #"{"to":"bob@x","body":"x","expires":1e99}"#, #"{"to":"bob@x","body":"x","collapse-id":""}"#,
      #"{"to":"bob@x","body":"x","more":1}"#, #"{"to":"bob@x","body":"x"} {"#,
    ])
    func `A request that is none is refused with a reason`(text: String) throws {
      let error = #expect(throws: GatewayRequestError.self) { try Self.message(text) }
      #expect(error?.status == 400 && error?.reason.isEmpty == false)
    }

    private static func object(_ payload: String) throws -> [String: Any] {
      let object = try JSONSerialization.jsonObject(with: Data(payload.utf8))
      return try #require(object as? [String: Any])
    }

    @Test(arguments: [1, 100, 1_500, 1_900, 2_500, 3_400, 4_000, 65_536])
    func `A notification has the whole text, or only wakes, in 4,096 bytes at most`(
      length: Int
    ) throws {
      let body = String(repeating: "é", count: length / 2) + (length % 2 == 0 ? "" : "x")
      let message = try Self.message(
        #"{"to":"bob@chat.example","body":"\#(body)","id":"7","app":"a","title":"T"}"#)
      let push = PushPayload.push(GatewayPush(target: .app("a"), content: .message(1, message)))
      #expect(push.payload.utf8.count <= 4_096 && push.identifier == "7")
      #expect(push.collapseIdentifier == "7")
      _ = try push.notification()
      let object = try Self.object(push.payload)
      let own = try #require(object["message"] as? [String: Any])
      #expect(own["id"] as? String == "7" && own["from"] as? String == "news@push.example")
      // No part of the text: its key would be another message's.
      #expect(own["body"] as? String == (length <= 3_400 ? body : nil))
      let aps = try #require(object["aps"] as? [String: Any])
      let alert = try #require((aps["alert"] as? [String: Any])?["body"] as? String)
      #expect(body.hasPrefix(alert.filter { $0 != "…" }) && !alert.isEmpty)
      #expect(aps["content-available"] as? Int == 1)
    }

    @Test func `A silent message and a wake show no alert`() throws {
      let silent = try Self.message(
        #"{"to":"bob@chat.example","body":"x","app":"a","silent":true}"#)
      for content in [GatewayPush.Content.message(1, silent), .wake] {
        let push = PushPayload.push(GatewayPush(target: .app("a"), content: content))
        let notification = try push.notification()
        #expect(notification.isSilent && !notification.hasAlert)
      }
    }
  }
#endif
