public import Bonjour
public import Reactive

extension Reactive where Base: NetServiceBrowser {
  /// Browses for services: sends the services of a type that are present, and again after each
  /// change. The search lasts until the producer's run is interrupted.
  ///
  /// Values are sent on a thread of the host: observe them on a scheduler.
  ///
  /// - Parameters:
  ///   - type: The type, such as `_http._tcp.`, optionally with the name of one subtype after a
  ///     comma.
  ///   - domain: The domain; empty for the default, `local.`.
  public static func services(
    ofType type: String, in domain: String = ""
  ) -> SignalProducer<Set<NetService>, NetServiceError> {
    SignalProducer(NetServiceBrowser.serviceFeed(ofType: type, in: domain))
  }
}

extension NetService: ReactiveExtensionsProvider {}
extension NetServiceBrowser: ReactiveExtensionsProvider {}
extension NWBrowser: ReactiveExtensionsProvider {}
extension NWEndpoint: ReactiveExtensionsProvider {}

extension Reactive where Base: NetService {
  /// Sends the resolved service, and each change of it.
  public var resolutions: SignalProducer<NetService.ResolvedService, NetServiceError> {
    SignalProducer(base.resolutionFeed)
  }

  /// Sends the TXT record, and each change of it.
  public var txtRecords: SignalProducer<Data, NetServiceError> { SignalProducer(base.textFeed) }

  /// Publishes the service during the producer's run, and sends the name under which it is
  /// registered.
  public func publishedNames(
    options: NetService.Options = []
  ) -> SignalProducer<String, NetServiceError> {
    SignalProducer(base.nameFeed(options))
  }
}

extension Reactive where Base == NWBrowser {
  /// Sends all results, and again after each change. The search lasts until the producer's run is
  /// interrupted. Values are sent on a thread of the host: observe them on a scheduler.
  public static func results(
    for descriptor: NWBrowser.Descriptor, using parameters: NWParameters = NWParameters()
  ) -> SignalProducer<Set<NWBrowser.Result>, NWError> {
    SignalProducer(NWBrowser.resultFeed(for: descriptor, using: parameters))
  }
}

extension Reactive where Base == NWEndpoint {
  /// Sends the addresses and ports of a service, and each change of them.
  public var addresses: SignalProducer<[NWEndpoint], NWError> {
    SignalProducer(base.addressFeed)
  }
}

extension SignalProducer where Value: Sendable {
  /// A producer of the values of a feed; interrupting a run ends it.
  init(_ feed: Feed<Value, Error>) {
    self.init(registering: { notify in
      let held = feed.start { result in
        switch result {
        case .success(let value): notify(.value(value))
        case .failure(let error): notify(.failed(error))
        }
      }
      return AnyDisposable { withExtendedLifetime(held) {} }
    })
  }
}
