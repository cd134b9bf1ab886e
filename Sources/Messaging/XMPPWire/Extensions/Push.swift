#if Messaging
  /// The request of an account to its server to publish to a push service, or to publish no more (XEP-0357, §5, §6).
  package struct PushRegistration: XMPPExtension {
    package var isEnabled: Bool
    package var service: JID
    /// The node by which the service knows the device; nil for all of the service, if it is disabled.
    package var node: String?

    package init(isEnabled: Bool, service: JID, node: String?) {
      self.isEnabled = isEnabled
      self.service = service
      self.node = node
    }

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.push, ["enable", "disable"].contains(element.name),
        let service = element["jid"].flatMap({ JID($0) })
      else { return nil }
      self.init(isEnabled: element.name == "enable", service: service, node: element["node"])
    }

    package var element: XMLElement {
      XMLElement(
        isEnabled ? "enable" : "disable", Namespace.push,
        ["jid": service.description, "node": node])
    }
  }

  /// What a server publishes to a push service when something waits for an account (XEP-0357, §7). Its summary is left
  /// out: it has no identifier of a message, so that it only wakes.
  package struct PushPublication: XMPPExtension {
    /// The longest node that is read, in bytes.
    package static let nodeByteCountMax = 256
    /// The node by which the service knows a device.
    package var node: String

    package init(node: String) { self.node = node }

    package init?(_ element: XMLElement) {
      guard element.has("pubsub", Namespace.pubSub),
        let publish = element.child("publish", Namespace.pubSub), let node = publish["node"],
        !node.isEmpty, node.utf8.count <= Self.nodeByteCountMax,
        let item = publish.child("item", Namespace.pubSub),
        item.child("notification", Namespace.push) != nil
      else { return nil }
      self.node = node
    }

    package var element: XMLElement {
      let item = XMLElement(
        "item", Namespace.pubSub, children: [XMLElement("notification", Namespace.push)])
      return XMLElement(
        "pubsub", Namespace.pubSub,
        children: [XMLElement("publish", Namespace.pubSub, ["node": node], children: [item])])
    }
  }
#endif
