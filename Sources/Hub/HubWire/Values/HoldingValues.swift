import BluetoothInterface

// What a session holds that a hub has kept. Links and services are enclosed, since later versions may add to them.

extension SessionHoldings: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var holdings = SessionHoldings()
      holdings.scan = try coder.field(value) { $0.scan }
      holdings.advertising = try coder.field(value) { $0.advertising }
      holdings.links = try coder.field(value) { $0.links }
      holdings.agent = try coder.field(value) { $0.agent }
      holdings.attendsAllPairings = try coder.field(value) { $0.attendsAllPairings }
      holdings.services = try coder.field(value) { $0.services }
      holdings.listeners = try coder.field(value) { $0.listeners }
      holdings.subscriptions = try coder.field(value) { $0.subscriptions }
      holdings.subscribers = try coder.field(value) { $0.subscribers }
      holdings.lastToken = try coder.compact(value?.lastToken)
      holdings.unhandledCount = try coder.field(value) { $0.unhandledCount }
      holdings.droppedCount = try coder.field(value) { $0.droppedCount }
      holdings.attributes = try coder.lastAddedField(value, default: []) { $0.attributes }
      return holdings
    }
  }
}

extension SessionHoldings.Link: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try Self(
        peer: coder.field(value) { $0.peer }, options: coder.field(value) { $0.options },
        isConnected: coder.field(value) { $0.isConnected },
        name: coder.lastAddedField(value, default: nil) { $0.name })
    }
  }
}

extension SessionHoldings.Service: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try Self(
        definition: coder.field(value) { $0.definition },
        published: coder.field(value) { $0.published })
    }
  }
}

extension SessionHoldings.Listener: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try Self(
      psm: coder.field(value) { $0.psm },
      requiresEncryption: coder.field(value) { $0.requiresEncryption })
  }
}

extension SessionHoldings.Subscription: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try Self(peer: coder.field(value) { $0.peer }, target: coder.field(value) { $0.target })
  }
}

extension SessionHoldings.Subscriber: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try Self(peer: coder.field(value) { $0.peer }, handle: coder.field(value) { $0.handle })
  }
}

extension PeerAttributes: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try Self(peer: coder.field(value) { $0.peer }, services: coder.field(value) { $0.services })
    }
  }
}

extension PeerAttributes.Service: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try Self(
        service: coder.field(value) { $0.service }, isListed: coder.field(value) { $0.isListed },
        includedServices: coder.field(value) { $0.includedServices },
        characteristics: coder.field(value) { $0.characteristics })
    }
  }
}

extension PeerAttributes.Characteristic: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try Self(
        characteristic: coder.field(value) { $0.characteristic },
        descriptors: coder.field(value) { $0.descriptors })
    }
  }
}
