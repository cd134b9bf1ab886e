import Bonjour
import Foundation

/// Events in the order in which they come, each awaited once.
final class Events<Event: Sendable>: @unchecked Sendable {
  // Unchecked: one test awaits at a time.

  private let continuation: AsyncStream<Event>.Continuation
  private var iterator: AsyncStream<Event>.Iterator

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
    self.continuation = continuation
    iterator = stream.makeAsyncIterator()
  }

  func add(_ event: Event) { continuation.yield(event) }

  func next() async -> Event? {
    var iterator = iterator
    defer { self.iterator = iterator }
    return await iterator.next(isolation: #isolation)
  }

  /// Waits for the next `count` events.
  func next(_ count: Int) async -> [Event] {
    var events: [Event] = []
    for _ in 0..<count { if let event = await next() { events.append(event) } }
    return events
  }
}

/// The calls of a service's delegate, as text.
final class ServiceRecorder: NSObject, NetServiceDelegate, @unchecked Sendable {
  // Unchecked: all properties are constant, or set before it is used.

  let events = Events<String>()
  var onAccept: (@Sendable (InputStream, OutputStream) -> Void)?

  func netServiceWillPublish(_ sender: NetService) { events.add("will publish \(sender.name)") }
  func netServiceDidPublish(_ sender: NetService) {
    events.add("published \(sender.name) in \(sender.domain)")
  }
  func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
    events.add("not published \(Self.text(errorDict))")
  }
  func netServiceWillResolve(_ sender: NetService) { events.add("will resolve") }
  func netServiceDidResolveAddress(_ sender: NetService) {
    events.add(
      "resolved \(sender.hostName ?? "") \(sender.port), addresses: \(sender.addresses?.count ?? 0)"
    )
  }
  func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
    events.add("not resolved \(Self.text(errorDict))")
  }
  func netServiceDidStop(_ sender: NetService) { events.add("stopped") }
  func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
    let entries = NetService.dictionary(fromTXTRecord: data)
    events.add(
      "text "
        + entries.map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" }
        .sorted().joined(separator: " "))
  }
  func netService(
    _ sender: NetService, didAcceptConnectionWith inputStream: InputStream,
    outputStream: OutputStream
  ) {
    events.add("accepted")
    onAccept?(inputStream, outputStream)
  }

  static func text(_ errors: [String: NSNumber]) -> String {
    "\(errors[NetService.errorCode] ?? 0) of \(errors[NetService.errorDomain] ?? 0)"
  }
}

/// The calls of a browser's delegate, as text.
final class BrowserRecorder: NSObject, NetServiceBrowserDelegate, @unchecked Sendable {
  // Unchecked: what changes is used on one run loop only.

  let events = Events<String>()
  private(set) var services: [NetService] = []

  func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) { events.add("will search") }
  func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) { events.add("stopped") }
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]
  ) {
    events.add("not searched \(ServiceRecorder.text(errorDict))")
  }
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
  ) {
    events.add("domain \(domainString)\(moreComing ? "…" : "")")
  }
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool
  ) {
    services.append(service)
    events.add("found \(service.name)\(moreComing ? "…" : "")")
  }
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
  ) {
    events.add("domain gone \(domainString)\(moreComing ? "…" : "")")
  }
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool
  ) {
    let isSame = services.contains { $0 === service }
    services.removeAll { $0 == service }
    events.add("gone \(service.name)\(isSame ? "" : ", another object")\(moreComing ? "…" : "")")
  }
}
