import BluetoothInterface

/// The results of successful requests.
extension HostReply: HubChoice {
  enum Number: UInt8, CaseIterable {
    case done = 1
    case services = 2
    case characteristics = 3
    case descriptors = 4
    case value = 5
    case values = 6
    case rssi = 7
    case published = 8
    case psm = 9
    case channel = 10
    case outOfBandData = 11
  }

  var number: Number {
    switch self {
    case .done: .done
    case .services: .services
    case .characteristics: .characteristics
    case .descriptors: .descriptors
    case .value: .value
    case .values: .values
    case .rssi: .rssi
    case .published: .published
    case .psm: .psm
    case .channel: .channel
    case .outOfBandData: .outOfBandData
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .done: return .done
    case .services:
      return try coder.fields(value, Self.services) {
        if case .services(let services) = $0 { services } else { nil }
      }
    case .characteristics:
      return try coder.fields(value, Self.characteristics) {
        if case .characteristics(let characteristics) = $0 { characteristics } else { nil }
      }
    case .descriptors:
      return try coder.fields(value, Self.descriptors) {
        if case .descriptors(let descriptors) = $0 { descriptors } else { nil }
      }
    case .value:
      return try coder.fields(value, Self.value) {
        if case .value(let value) = $0 { value } else { nil }
      }
    case .values:
      return try coder.fields(value, Self.values) {
        if case .values(let values) = $0 { values } else { nil }
      }
    case .rssi:
      return try coder.fields(value, Self.rssi) {
        if case .rssi(let rssi) = $0 { rssi } else { nil }
      }
    case .published:
      return try coder.fields(value, Self.published) {
        if case .published(let service) = $0 { service } else { nil }
      }
    case .psm:
      return try coder.fields(value, Self.psm) { if case .psm(let psm) = $0 { psm } else { nil } }
    case .channel:
      return try coder.fields(value, Self.channel) {
        if case .channel(let channel) = $0 { channel } else { nil }
      }
    case .outOfBandData:
      return try coder.fields(value, Self.outOfBandData) {
        if case .outOfBandData(let data) = $0 { data } else { nil }
      }
    }
  }
}

/// The end of a request in one value: 0 and the error, or the reply, whose numbers begin at 1.
struct Completion: HubCodable {
  var result: Result<HostReply, HostError>

  private static let failure: UInt8 = 0

  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.byte(value?.number)
    if number == failure {
      let result = try coder.fields(value?.result, Result<HostReply, HostError>.failure) {
        if case .failure(let error) = $0 { error } else { nil }
      }
      return Completion(result: result)
    }
    let sent = try? value?.result.get()
    let reply = try coder.known { coder throws(HubWireError) in
      guard let known = HostReply.Number(rawValue: number) else {
        throw HubWireError.unknownNumber(of: "HostReply", number: number)
      }
      return try HostReply.coded(sent, known, by: &coder)
    }
    if let reply { return Completion(result: .success(reply)) }
    // A request ends also with a reply that only a later version knows. Its fields have no end of their own.
    _ = try coder.rest(nil)
    return Completion(result: .failure(.unsupported("reply \(number) of a newer hub")))
  }

  private var number: UInt8 {
    switch result {
    case .success(let reply): reply.number.rawValue
    case .failure: Self.failure
    }
  }
}
