/// Told what a ``NetServiceBrowser`` finds: on the run loops on which that is scheduled.
///
/// Apple's protocol has optional methods; here all have an implementation that does nothing.
public protocol NetServiceBrowserDelegate: NSObjectProtocol {
  /// A search begins; it may still fail.
  func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)
  /// The search ended.
  func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)
  /// The search did not begin.
  func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])
  /// There is a domain; `moreComing` if more is told at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)
  /// There is a service; `moreComing` if more is told at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)
  /// A domain is no longer there; `moreComing` if more is told at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)
  /// A service is no longer there; `moreComing` if more is told at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool)
}

extension NetServiceBrowserDelegate {
  /// Does nothing.
  public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {}
  /// Does nothing.
  public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {}
  /// Does nothing.
  public func netServiceBrowser(
    _ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]
  ) {}
  /// Does nothing.
  public func netServiceBrowser(
    _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
  ) {}
  /// Does nothing.
  public func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool
  ) {}
  /// Does nothing.
  public func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
  ) {}
  /// Does nothing.
  public func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool
  ) {}
}
