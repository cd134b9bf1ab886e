package import BluetoothInterface
import BluetoothWire

/// The events of one message, in order, as a client receives them.
package struct HubEvents: Hashable, Sendable {
  /// An event that only a later version knows, or with a value that only a later version knows.
  package struct Unknown: Hashable, Sendable {
    /// The number of events of the message that precede it.
    package var position: Int
    /// The number of the event.
    package var number: UInt8
    /// The bytes of the fields. They share the storage of all bytes that arrived together; copy those that
    /// you keep.
    package var fields: ArraySlice<UInt8>

    /// The identifier of the prompt, if this is a pairing prompt that only a later version knows. An agent
    /// rejects it, so that the pairing doesn't wait for an answer.
    package var pairingPrompt: PairingPromptID? {
      guard number == LinkEventNumber.pairingPrompt.rawValue else { return nil }
      var decoder = HubDecoder(fields)
      guard (try? DeviceAddress.coded(nil, by: &decoder)) != nil else { return nil }
      return try? PairingPromptID.coded(nil, by: &decoder)
    }
  }

  /// The events that this version knows.
  package var events: [HostEvent]
  /// The others. The client acknowledges them with those around them.
  package private(set) var unknown: [Unknown] = []

  /// Events of this version.
  package init(_ events: [HostEvent]) { self.events = events }

  /// The number of events to acknowledge.
  package var count: Int { events.count + unknown.count }
}

/// Each event is enclosed, one after the other up to the end of the message.
extension HubEvents: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    if let value {
      guard value.events.count <= HubProtocol.eventCountMax else {
        throw tooMany(value.events.count)
      }
      for event in value.events { try write(event, by: &coder) }
      return value
    }
    var events = HubEvents([])
    while !coder.isAtEnd {
      guard events.count < HubProtocol.eventCountMax else { throw tooMany(events.count + 1) }
      try events.read(by: &coder)
    }
    return events
  }

  /// Writes one event.
  static func write<C: HubCoder>(_ event: HostEvent, by coder: inout C) throws(HubWireError) {
    _ = try coder.enclosed { coder throws(HubWireError) in
      try HostEvent.coded(event, by: &coder)
    }
  }

  private mutating func read<C: HubCoder>(by coder: inout C) throws(HubWireError) {
    let position = count
    let (event, unknown) = try coder.enclosed {
      coder throws(HubWireError) -> (HostEvent?, Unknown?) in
      let event = try coder.known { coder throws(HubWireError) in
        try HostEvent.coded(nil, by: &coder)
      }
      if let event { return (event, nil) }
      let number = try coder.byte(nil)
      let fields = try coder.rest(nil)
      return (nil, Unknown(position: position, number: number, fields: fields))
    }
    if let event { events.append(event) }
    if let unknown { self.unknown.append(unknown) }
  }

  private static func tooMany(_ count: Int) -> HubWireError {
    .tooMany(count: UInt64(count), max: HubProtocol.eventCountMax)
  }
}
