import BluetoothWire
import NIOCore
import Simulation

extension RadioChoice {
  /// What makes attempts at the way to this radio's controller, one after the other. Called on the
  /// event loop.
  func transportMaker(on loop: EventLoopClock) -> @Sendable () -> any HCITransport {
    let way: ChannelTransport.Way
    switch self {
    case .simulated(let choice):
      return simulatedTransportMaker(choice, on: loop.eventLoop)
    case .tcp(let host, let port): way = .tcp(host: host, port: port)
    case .unix(let path): way = .unix(path: path)
    case .uart(let line): way = .uart(line)
    case .hci(let index): way = .userChannel(index)
    }
    return { ChannelTransport(eventLoop: loop.eventLoop, way: way, poller: loop.poller) }
  }

  /// All attempts lead to the same controller in the same world, made at the first.
  private func simulatedTransportMaker(
    _ choice: SimulatedAir, on eventLoop: any EventLoop
  ) -> @Sendable () -> any HCITransport {
    let box = NIOLoopBoundBox<(RealTimeAir, ControllerPort)?>.makeEmptyBox(
      valueType: (RealTimeAir, ControllerPort).self, eventLoop: eventLoop)
    return {
      if let (_, port) = box.value { return SimulatedTransport(port) }
      let world = World(seed: choice.seed)
      if choice.isPopulated { world.populate(with: .home) }
      let realTime = RealTimeAir(world: world, on: eventLoop)
      let address = DeviceAddress(bits: 0xA0B0_0000_0001, kind: .public)
      let port = realTime.air.makePort(name: "host", address: address, at: Position())
      box.value = (realTime, port)
      return SimulatedTransport(port)
    }
  }
}
