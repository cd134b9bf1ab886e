extension NetServiceBrowser {
  /// Browses for services: emits the services of a type that are present, and again after each
  /// change. The search ends with the `for await` loop or its task.
  ///
  /// The services are not scheduled on a run loop. Use ``NetService/resolve(timeout:)`` to resolve
  /// one.
  ///
  /// - Parameters:
  ///   - type: The type, such as `_http._tcp.`, optionally with the name of one subtype after a
  ///     comma.
  ///   - domain: The domain; empty for the default, `local.`.
  public static func services(
    ofType type: String, in domain: String = ""
  ) -> AsyncThrowingStream<Set<NetService>, any Error> {
    serviceFeed(ofType: type, in: domain).values()
  }
}

extension NetService {
  /// Emits the resolved service as soon as an address is known, and each change of it, such as an
  /// additional address.
  public var resolutions: AsyncThrowingStream<ResolvedService, any Error> {
    resolutionFeed.values()
  }

  /// Resolves the service.
  ///
  /// Throws a ``NetServiceError``. After the timeout its code is ``ErrorCode/timeoutError``.
  public func resolve(timeout: Duration = .seconds(5)) async throws -> ResolvedService {
    try await resolutionFeed.first(
      within: timeout.inSeconds, discovery, orThrow: NetServiceError(.timeoutError)
    ) { _ in true }
  }

  /// Emits the TXT record, and each change of it.
  public var txtRecords: AsyncThrowingStream<Data, any Error> { textFeed.values() }

  /// Publishes the service while the sequence is held. Emits the name under which it is registered,
  /// and the new name if another host takes it.
  ///
  /// - Parameter options: ``Options/listenForConnections`` has no effect.
  public func publishedNames(
    options: Options = []
  ) -> AsyncThrowingStream<String, any Error> {
    nameFeed(options).values(keepingAll: true)
  }
}

extension NWBrowser {
  /// Browses without handlers or queue: emits all results, and again after each change. The search
  /// ends with the `for await` loop or its task.
  public static func results(
    for descriptor: Descriptor, using parameters: NWParameters = NWParameters()
  ) -> AsyncThrowingStream<Set<Result>, any Error> {
    resultFeed(for: descriptor, using: parameters).values()
  }
}

extension NWEndpoint {
  /// Resolves a service, and returns its addresses and ports.
  ///
  /// Throws an ``NWError``, which is `kDNSServiceErr_Timeout` after the timeout.
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
