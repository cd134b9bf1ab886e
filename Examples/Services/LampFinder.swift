import Bonjour

/// Finds lamps and where they are.
final class LampFinder: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
  private let browser = NetServiceBrowser()
  private var lamps: Set<NetService> = []

  func start() {
    browser.delegate = self
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
  }

  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool
  ) {
    lamps.insert(service)
    service.delegate = self
    service.resolve(withTimeout: 5)
  }

  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool
  ) {
    lamps.remove(service)
  }

  func netServiceDidResolveAddress(_ sender: NetService) {
    print("\(sender.name) is at \(sender.hostName ?? ""), port \(sender.port)")
  }
}
