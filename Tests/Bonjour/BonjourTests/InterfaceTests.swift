import Bonjour
import Foundation
import Testing

/// Every declaration of Apple's that there is, with the signature that Apple's have. What matters is
/// that this compiles: it is written without `@testable`, as by an app.
@Suite("Apple's declarations")
struct InterfaceTests {
  @Test("NetService has Apple's declarations")
  func netService() {
    let make: (String, String, String, Int32) -> NetService =
      NetService.init(domain:type:name:port:)
    let makeClient: (String, String, String) -> NetService = NetService.init(domain:type:name:)
    let service = make("local.", "_lamp._tcp.", "Lamp", 80)
    #expect(service == makeClient("local.", "_lamp._tcp.", "Lamp"))
    let _: (RunLoop, RunLoop.Mode) -> Void = service.schedule(in:forMode:)
    let _: (RunLoop, RunLoop.Mode) -> Void = service.remove(from:forMode:)
    let _: (NetService.Options) -> Void = service.publish(options:)
    let _: () -> Void = service.publish
    let _: (TimeInterval) -> Void = service.resolve(withTimeout:)
    let _: () -> Void = service.stop
    let _: () -> Void = service.startMonitoring
    let _: () -> Void = service.stopMonitoring
    let _: (Data?) -> Bool = service.setTXTRecord
    let _: () -> Data? = service.txtRecordData
    let _: (Data) -> [String: Data] = NetService.dictionary(fromTXTRecord:)
    let _: ([String: Data]) -> Data = NetService.data(fromTXTRecord:)
    let _: (UnsafeMutablePointer<InputStream?>?, UnsafeMutablePointer<OutputStream?>?) -> Bool =
      service.getInputStream(_:outputStream:)
    let _: WritableKeyPath<NetService, (any NetServiceDelegate)?> = \.delegate
    let _: WritableKeyPath<NetService, Bool> = \.includesPeerToPeer
    let _: KeyPath<NetService, String> = \.name
    let _: KeyPath<NetService, String> = \.type
    let _: KeyPath<NetService, String> = \.domain
    let _: KeyPath<NetService, String?> = \.hostName
    let _: KeyPath<NetService, [Data]?> = \.addresses
    let _: KeyPath<NetService, Int> = \.port
  }

  @available(*, deprecated, message: "names what Apple deprecated")
  @Test("NetService has the declarations that Apple deprecated")
  func deprecated() {
    let _: (NetService) -> () -> Void = NetService.resolve
  }

  /// A subclass, as an app may make one.
  private final class Lamp: NetService, @unchecked Sendable {
    // Unchecked: it adds nothing.
    override init(domain: String, type: String, name: String, port: Int32) {
      super.init(domain: domain, type: type, name: name, port: port)
    }
  }

  @Test("a subclass of NetService that makes its services itself can resolve, too")
  func subclass() {
    #expect(Lamp(domain: "local.", type: "_lamp._tcp.", name: "Lamp").port == -1)
  }

  @Test("NetService's errors and options have Apple's numbers and keys")
  func netServiceValues() {
    let codes: [NetService.ErrorCode] = [
      .unknownError, .collisionError, .notFoundError, .activityInProgress, .badArgumentError,
      .cancelledError, .invalidError, .timeoutError, .missingRequiredConfigurationError,
    ]
    #expect(codes.map(\.rawValue) == Array((-72_008)...(-72_000)).reversed())
    #expect(NetService.errorCode == "NSNetServicesErrorCode")
    #expect(NetService.errorDomain == "NSNetServicesErrorDomain")
    #expect(NetService.Options.noAutoRename.rawValue == 1)
    #expect(NetService.Options.listenForConnections.rawValue == 2)
  }

  @Test("NetServiceBrowser has Apple's declarations")
  func netServiceBrowser() {
    let browser = NetServiceBrowser()
    let _: (RunLoop, RunLoop.Mode) -> Void = browser.schedule(in:forMode:)
    let _: (RunLoop, RunLoop.Mode) -> Void = browser.remove(from:forMode:)
    let _: () -> Void = browser.searchForBrowsableDomains
    let _: () -> Void = browser.searchForRegistrationDomains
    let _: (String, String) -> Void = browser.searchForServices(ofType:inDomain:)
    let _: () -> Void = browser.stop
    let _: WritableKeyPath<NetServiceBrowser, (any NetServiceBrowserDelegate)?> = \.delegate
    let _: WritableKeyPath<NetServiceBrowser, Bool> = \.includesPeerToPeer
    #expect(browser.delegate == nil)
  }

  /// A delegate that implements nothing.
  private final class Silent: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {}

  @Test("every method of a delegate may be left out")
  func delegates() {
    let delegate = Silent()
    let service = NetService(domain: "", type: "_lamp._tcp.", name: "Lamp")
    let browser = NetServiceBrowser()
    let services: any NetServiceDelegate = delegate
    services.netServiceWillPublish(service)
    services.netServiceDidPublish(service)
    services.netService(service, didNotPublish: [:])
    services.netServiceWillResolve(service)
    services.netServiceDidResolveAddress(service)
    services.netService(service, didNotResolve: [:])
    services.netServiceDidStop(service)
    services.netService(service, didUpdateTXTRecord: Data())
    services.netService(
      service, didAcceptConnectionWith: InputStream(data: Data()), outputStream: .toMemory())
    let browsers: any NetServiceBrowserDelegate = delegate
    browsers.netServiceBrowserWillSearch(browser)
    browsers.netServiceBrowserDidStopSearch(browser)
    browsers.netServiceBrowser(browser, didNotSearch: [:])
    browsers.netServiceBrowser(browser, didFindDomain: "local.", moreComing: false)
    browsers.netServiceBrowser(browser, didFind: service, moreComing: false)
    browsers.netServiceBrowser(browser, didRemoveDomain: "local.", moreComing: false)
    browsers.netServiceBrowser(browser, didRemove: service, moreComing: false)
  }

  @Test("NWBrowser has Apple's declarations")
  func nwBrowser() {
    let browser = NWBrowser(for: .bonjour(type: "_lamp._tcp", domain: nil), using: .tcp)
    let _: (DispatchQueue) -> Void = browser.start(queue:)
    let _: () -> Void = browser.cancel
    let _: WritableKeyPath<NWBrowser, (@Sendable (NWBrowser.State) -> Void)?> =
      \.stateUpdateHandler
    let _:
      WritableKeyPath<
        NWBrowser, (@Sendable (Set<NWBrowser.Result>, Set<NWBrowser.Result.Change>) -> Void)?
      > = \.browseResultsChangedHandler
    let _: KeyPath<NWBrowser, Set<NWBrowser.Result>> = \.browseResults
    let _: KeyPath<NWBrowser, NWBrowser.State> = \.state
    let _: KeyPath<NWBrowser, NWBrowser.Descriptor> = \.descriptor
    let _: KeyPath<NWBrowser, NWParameters> = \.parameters
    let _: KeyPath<NWBrowser, DispatchQueue?> = \.queue
    let _: KeyPath<NWBrowser.Result, NWEndpoint> = \.endpoint
    let _: KeyPath<NWBrowser.Result, [NWInterface]> = \.interfaces
    let _: KeyPath<NWBrowser.Result, NWBrowser.Result.Metadata> = \.metadata
    let states: [NWBrowser.State] = [
      .setup, .ready, .failed(.posix(.EIO)), .cancelled, .waiting(.tls(0)),
    ]
    let descriptors: [NWBrowser.Descriptor] = [
      .bonjour(type: "", domain: nil), .bonjourWithTXTRecord(type: "", domain: ""),
      .applicationService(name: ""),
    ]
    let flags: NWBrowser.Result.Change.Flags = [
      .identical, .interfaceAdded, .interfaceRemoved, .metadataChanged,
    ]
    #expect(Set(states).count == 5 && Set(descriptors).count == 3 && flags.rawValue == 15)
    let metadata: [NWBrowser.Result.Metadata] = [.none, .bonjour(NWTXTRecord())]
    #expect(Set(metadata).count == 2)
    let change = NWBrowser.Result.Change(between: nil, nil)
    switch change {
    case .identical: break
    case .added(let result), .removed(let result): Issue.record("\(result)")
    case .changed(let old, let new, let flags): Issue.record("\(old) \(new) \(flags)")
    }
  }

  @Test("NWListener has Apple's declarations")
  func nwListener() throws {
    let listener = try NWListener(using: .tcp, on: .any)
    let service = NWListener.Service(
      name: "Lamp", type: "_lamp._tcp", domain: nil, txtRecord: Data())
    let other = NWListener.Service(
      name: nil, type: "_lamp._tcp", domain: "local", txtRecord: NWTXTRecord(["a": "b"]))
    #expect(other.txtRecordObject?["a"] == "b" && other.txtRecord?.count == 4)
    #expect(try NWListener(service: service, using: .tcp).service?.type == "_lamp._tcp")
    let _: (DispatchQueue) -> Void = listener.start(queue:)
    let _: () -> Void = listener.cancel
    let _: WritableKeyPath<NWListener, NWListener.Service?> = \.service
    let _: WritableKeyPath<NWListener, (@Sendable (NWListener.State) -> Void)?> =
      \.stateUpdateHandler
    let _: WritableKeyPath<NWListener, (@Sendable (NWConnection) -> Void)?> =
      \.newConnectionHandler
    let _:
      WritableKeyPath<NWListener, (@Sendable (NWListener.ServiceRegistrationChange) -> Void)?> =
        \.serviceRegistrationUpdateHandler
    let _: WritableKeyPath<NWListener.Service, String?> = \.name
    let _: WritableKeyPath<NWListener.Service, String?> = \.domain
    let _: WritableKeyPath<NWListener.Service, Data?> = \.txtRecord
    let _: WritableKeyPath<NWListener.Service, NWTXTRecord?> = \.txtRecordObject
    let _: WritableKeyPath<NWListener.Service, Bool> = \.noAutoRename
    let changes: [NWListener.ServiceRegistrationChange] = [
      .add(.unix(path: "")), .remove(.unix(path: "")),
    ]
    #expect(Set(changes).count == 2)
    #expect(listener.newConnectionLimit == NWListener.InfiniteConnectionLimit)
  }

  @Test("NWEndpoint, NWTXTRecord and NWError have Apple's declarations")
  func values() throws {
    let url = try #require(URL(string: "http://example.com"))
    let endpoints: [NWEndpoint] = [
      .hostPort(host: "lamp.local", port: 80), .unix(path: "/run/lamp"), .url(url),
      .service(name: "Lamp", type: "_lamp._tcp", domain: "local", interface: nil), .opaque("x"),
    ]
    #expect(Set(endpoints).count == 5)
    let text: [String: String] = ["a": "b"]
    let data: [String: Data] = ["a": Data("b".utf8)]
    let entries: [String: NWTXTRecord.Entry] = ["a": .string("b")]
    var record = NWTXTRecord(text)
    #expect(record == NWTXTRecord(data) && record == NWTXTRecord(entries))
    #expect(NWTXTRecord(record.data) == record && NWTXTRecord().isEmpty)
    let _: (String) -> NWTXTRecord.Entry? = record.getEntry(for:)
    let isSet = record.setEntry(.none, for: "c")
    let isRemoved = record.removeEntry(key: "a")
    #expect(isSet && isRemoved && record["c"] == "")
    let all: [NWTXTRecord.Entry] = [.none, .empty, .string("b"), .data(Data([0xFF]))]
    #expect(all.map { NWTXTRecord.Entry($0.data) } == all)
    let errors: [NWError] = [.posix(.ENOENT), .dns(0), .tls(0)]
    #expect(Set(errors).count == 3)
  }

  @Test("NWConnection has Apple's declarations")
  func nwConnection() {
    let connection = NWConnection(host: "lamp.local", port: .http, using: .tcp)
    let _: (DispatchQueue) -> Void = connection.start(queue:)
    let _: () -> Void = connection.cancel
    let _: () -> Void = connection.forceCancel
    let _: WritableKeyPath<NWConnection, (@Sendable (NWConnection.State) -> Void)?> =
      \.stateUpdateHandler
    let _: KeyPath<NWConnection, NWPath?> = \.currentPath
    #expect(connection.endpoint == .hostPort(host: "lamp.local", port: 80))
    #expect(connection.state == .setup && connection.parameters.copy().requiredInterface == nil)
  }
}
