package import BluetoothInterface

/// A request as the hub receives it: of its own version, or of a later one.
package enum HubRequest: Hashable, Sendable {
  /// A request that this version knows.
  case known(HostRequest)
  /// A request that only a later version knows.
  case unknown(UnknownRequest)
}

/// A request that only a later version knows, or with a value that only a later version knows.
///
/// With a token, it is completed with `HostError.unsupported`, and the number in the text. Without one, it is
/// ignored, as requests without a token report no errors.
package struct UnknownRequest: Hashable, Sendable {
  /// The number of the request.
  package var number: UInt8
  /// The token, if the request has one.
  package var token: RequestToken?
  /// The bytes of the fields. They share the storage of all bytes that arrived together; copy those that you
  /// keep.
  var fields: ArraySlice<UInt8>
}

extension HubRequest: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.byte(value?.number)
    var token: RequestToken?
    if number & HubProtocol.mustUnderstand != 0 {
      token = try RequestToken.coded(value?.token, by: &coder)
    }
    if case .unknown(let unknown)? = value {
      _ = try coder.rest(unknown.fields)
      return .unknown(unknown)
    }
    // Requests without a token ignore it.
    let tokenOrNone = token ?? RequestToken(rawValue: 0)
    let request = try coder.known { coder throws(HubWireError) in
      try HostRequest.coded(value?.request, number, tokenOrNone, by: &coder)
    }
    if let request { return .known(request) }
    return .unknown(UnknownRequest(number: number, token: token, fields: try coder.rest(nil)))
  }

  private var number: UInt8 {
    switch self {
    case .known(let request): request.number
    case .unknown(let unknown): unknown.number
    }
  }

  private var token: RequestToken? {
    switch self {
    case .known(let request): request.token
    case .unknown(let unknown): unknown.token
    }
  }

  private var request: HostRequest? {
    if case .known(let request) = self { request } else { nil }
  }
}
