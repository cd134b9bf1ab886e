internal import Connections
internal import EventLoop
internal import RunLoopSupport

// What Apple's Foundation has and Linux lacks.
extension Stream {
  /// Makes streams that connect to a TCP port of a host when one of them is opened.
  ///
  /// With the service type `voIP` of `.networkServiceType`, set before they are opened, the system holds the connection
  /// while the app is suspended or doesn't run: bytes wake the app. A later process that makes streams to the same host
  /// and port gets the connection back. Needs the background mode `voip`, and a manager of apps; elsewhere the
  /// connection ends with the process.
  ///
  /// - Parameters:
  ///   - hostname: A name or an address.
  ///   - port: The TCP port. Streams to another number fail with `EINVAL`.
  ///   - inputStream: Gets the stream for reading.
  ///   - outputStream: Gets the stream for writing.
  public static func getStreamsToHost(
    withName hostname: String, port: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
    outputStream: UnsafeMutablePointer<OutputStream?>?
  ) {
    let discovery = DiscoveryContext.discovery
    let pipe = ConnectionPipe(TCPConnection(), identifier: "stream \(hostname) \(port)") {
      connection in
      guard let number = UInt16(exactly: port), number > 0 else {
        connection.fail(SystemError(number: EINVAL))
        return nil
      }
      return ConnectionSearch(.host(hostname, port: number), for: connection, discovery) {
        [weak connection] in connection?.fail($0)
      }
    }
    let streams = PipeStreams.pair(pipe)
    inputStream?.pointee = streams.input
    outputStream?.pointee = streams.output
  }

  /// Sets the service type of a stream, as on Apple's systems, where properties are of any type.
  @discardableResult
  public func setProperty(
    _ type: StreamNetworkServiceTypeValue, forKey key: Stream.PropertyKey
  ) -> Bool {
    setProperty(NSString(string: type.rawValue), forKey: key)
  }
}
