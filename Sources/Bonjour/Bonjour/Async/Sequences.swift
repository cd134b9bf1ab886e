extension NetServiceBrowser {
  /// The services of a type that there are, whenever that changes: for a `for await` loop, without
  /// delegate or run loop. The search ends with the loop or its task.
  ///
  /// The services are on no run loop; ``NetService/resolve(timeout:)`` resolves one.
  ///
  /// - Parameters:
  ///   - type: Such as `_http._tcp.`, with the name of one subtype after a comma.
  ///   - domain: Where; empty for the default, `local.`.
  public static func services(
    ofType type: String, in domain: String = ""
  ) -> AsyncThrowingStream<Set<NetService>, any Error> {
    serviceFeed(ofType: type, in: domain).values()
  }
}

extension NetService {
  /// The resolved service, and each change of it: once an address is known, and again with each
  /// that becomes known later.
  public var resolutions: AsyncThrowingStream<ResolvedService, any Error> {
    resolutionFeed.values()
  }

  /// Resolves the service.
  ///
  /// Throws a ``NetServiceError``, after the timeout that of ``ErrorCode/timeoutError``.
  public func resolve(timeout: Duration = .seconds(5)) async throws -> ResolvedService {
    try await resolutionFeed.first(
      within: timeout.inSeconds, discovery, orThrow: NetServiceError(.timeoutError)
    ) { _ in true }
  }

  /// The TXT record, and each change of it.
  public var txtRecords: AsyncThrowingStream<Data, any Error> { textFeed.values() }

  /// Publishes the service for as long as the sequence is held, and gives the name under which it
  /// is; another one if another host takes that.
  ///
  /// - Parameter options: ``Options/listenForConnections`` has no meaning here.
  public func publishedNames(
    options: Options = []
  ) -> AsyncThrowingStream<String, any Error> {
    nameFeed(options).values(keepingAll: true)
  }
}

extension NWBrowser {
  /// The results, and each change of them, for a `for await` loop without handlers or queue. The
  /// search ends with the loop or its task.
  public static func results(
    for descriptor: Descriptor, using parameters: NWParameters = NWParameters()
  ) -> AsyncThrowingStream<Set<Result>, any Error> {
    resultFeed(for: descriptor, using: parameters).values()
  }
}

extension NWEndpoint {
  /// The addresses and ports of a service.
  ///
  /// Throws an ``NWError``, after the timeout `kDNSServiceErr_Timeout`.
  public func addresses(within timeout: Duration = .seconds(5)) async throws -> [NWEndpoint] {
    try await addressFeed.first(
      within: timeout.inSeconds, DiscoveryContext.discovery,
      orThrow: .dns(DNSServiceErrorType(kDNSServiceErr_Timeout))
    ) { _ in true }
  }
}

extension Duration {
  fileprivate var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
