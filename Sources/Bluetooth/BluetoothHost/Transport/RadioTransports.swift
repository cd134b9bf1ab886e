import BluetoothMachines
import NIOCore

extension RadioChoice {
  /// What makes attempts at the way to this radio's controller, one after the other. Called on the
  /// event loop.
  func transportMaker(on eventLoop: any EventLoop) -> @Sendable () -> any HCITransport {
    let way: ChannelTransport.Way
    switch self {
    case .simulated:
      return { UnavailableTransport(.unsupported("There is no simulated radio in this build.")) }
    case .tcp(let host, let port): way = .tcp(host: host, port: port)
    case .unix(let path): way = .unix(path: path)
    case .uart(let line): way = .uart(line)
    case .hci(let index): way = .userChannel(index)
    }
    return { ChannelTransport(eventLoop: eventLoop, way: way) }
  }
}
