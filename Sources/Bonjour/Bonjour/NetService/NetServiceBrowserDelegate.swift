/// Receives the results of a ``NetServiceBrowser``, on the run loops on which the browser is
/// scheduled.
///
/// Apple's protocol has optional methods; here all have an implementation that does nothing.
public protocol NetServiceBrowserDelegate: NSObjectProtocol {
  /// A search begins; it may still fail.
  func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)
  /// The search ended.
  func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)
  /// The search did not begin.
  func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])
  /// A domain was found; `moreComing` if more calls follow at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)
  /// A service was found; `moreComing` if more calls follow at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)
  /// A domain is gone; `moreComing` if more calls follow at once.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)
  /// A service is gone; `moreComing` if more calls follow at once.
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
