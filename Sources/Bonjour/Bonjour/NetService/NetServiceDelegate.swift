/// Receives the events of a ``NetService``, on the run loops on which the service is scheduled.
///
/// Apple's protocol has optional methods; here all have an implementation that does nothing.
public protocol NetServiceDelegate: NSObjectProtocol {
  /// Publishing is starting; it may still fail.
  func netServiceWillPublish(_ sender: NetService)
  /// The service is published under its current name.
  func netServiceDidPublish(_ sender: NetService)
  /// Publishing failed.
  func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber])
  /// Resolving is starting; it may still fail.
  func netServiceWillResolve(_ sender: NetService)
  /// An address of the service was found. Also called for each additional address.
  func netServiceDidResolveAddress(_ sender: NetService)
  /// The service could not be resolved.
  func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber])
  /// Publishing or resolving was stopped.
  func netServiceDidStop(_ sender: NetService)
  /// The TXT record was received, or it changed.
  func netService(_ sender: NetService, didUpdateTXTRecord data: Data)
  /// A client connected to a service that listens for connections. Releasing both streams closes
  /// the connection.
  func netService(
    _ sender: NetService, didAcceptConnectionWith inputStream: InputStream,
    outputStream: OutputStream)
}

extension NetServiceDelegate {
  /// Does nothing.
  public func netServiceWillPublish(_ sender: NetService) {}
  /// Does nothing.
  public func netServiceDidPublish(_ sender: NetService) {}
  /// Does nothing.
  public func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
  /// Does nothing.
  public func netServiceWillResolve(_ sender: NetService) {}
  /// Does nothing.
  public func netServiceDidResolveAddress(_ sender: NetService) {}
  /// Does nothing.
  public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {}
  /// Does nothing.
  public func netServiceDidStop(_ sender: NetService) {}
  /// Does nothing.
  public func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {}
  /// Does nothing.
  public func netService(
    _ sender: NetService, didAcceptConnectionWith inputStream: InputStream,
    outputStream: OutputStream
  ) {}
}
