import Bonjour
import Foundation

/// Finds chat rooms, resolves them, and sends a greeting.
class ChatBrowser: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
  private let browser = NetServiceBrowser()
  private(set) var services: [NetService] = []
  private var output: OutputStream?

  var onServices: (([String]) -> Void)?
  var onResolved: ((NetService, [String]) -> Void)?
  var onGone: ((String) -> Void)?

  override init() {
    super.init()
    browser.delegate = self
  }

  func start(type: String) {
    services.removeAll()
    browser.searchForServices(ofType: type, inDomain: "")
  }

  func stop() {
    output?.close()
    browser.stop()
  }

  func say(_ text: String, to service: NetService) {
    var output: OutputStream?
    if service.getInputStream(nil, outputStream: &output), let output = output {
      output.open()
      let bytes = [UInt8](text.utf8)
      if output.write(bytes, maxLength: bytes.count) < 0 {
        NSLog("could not write: \(String(describing: output.streamError))")
      }
      self.output = output
    }
  }

  // MARK: NetServiceBrowserDelegate

  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool
  ) {
    services.append(service)
    service.delegate = self
    service.resolve(withTimeout: 5.0)
    if !moreComing {
      onServices?(services.map { $0.name })
    }
  }

  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool
  ) {
    if let index = services.firstIndex(of: service) {
      services.remove(at: index)
    }
    onGone?(service.name)
  }

  // MARK: NetServiceDelegate

  func netServiceDidResolveAddress(_ sender: NetService) {
    let addresses = sender.addresses ?? []
    onResolved?(sender, addresses.compactMap { numericHost($0) })
  }

  func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
    NSLog("not resolved: \(errorDict)")
  }

  private func numericHost(_ address: Data) -> String? {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let result = address.withUnsafeBytes { pointer -> Int32 in
      guard let base = pointer.baseAddress else { return -1 }
      return getnameinfo(
        base.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count),
        &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
    }
    return result == 0 ? String(cString: host) : nil
  }
}
