/// Receives the results of a ``NetServiceBrowser``, on the run loops on which the browser is
/// scheduled.
///
/// Apple's protocol has optional methods; here all have an implementation that does nothing.
public protocol NetServiceBrowserDelegate: NSObjectProtocol {
  /// A search is starting; it may still fail.
  func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)
  /// The search was stopped.
  func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)
  /// The search failed to start.
  func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])
  /// A domain was found; `moreComing` is true if more calls follow immediately.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)
  /// A service was found; `moreComing` is true if more calls follow immediately.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)
  /// A domain disappeared; `moreComing` is true if more calls follow immediately.
  func netServiceBrowser(
    _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)
  /// A service disappeared; `moreComing` is true if more calls follow immediately.
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
