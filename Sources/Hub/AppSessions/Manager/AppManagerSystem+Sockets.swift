internal import AppMachines
internal import Glibc

// Held sockets: a connection of its own for each request, since descriptors go with bytes.

extension AppManagerSystem {
  package func exchange(
    _ request: HeldSocketRequest, with descriptor: Int32?
  ) -> (reply: HeldSocketReply, descriptor: Int32?) {
    let refused = (HeldSocketReply.refused(.unavailable), Int32?.none)
    // A manager of an earlier version doesn't listen there.
    guard let socket = try? Self.connect(to: AppManagerPlace.sockets(beside: path)) else {
      return refused
    }
    defer { Glibc.close(socket) }
    Self.setTimeLimit(seconds: Self.answerSeconds, of: socket)
    guard DescriptorMessage.send(AppFrame.bytes(of: request), with: descriptor, on: socket) else {
      return refused
    }
    var reader = AppFrame.Reader(byteCountMax: HeldSocketRequest.byteCountMax)
    var received: [Int32] = []
    while let part = DescriptorMessage.receive(HeldSocketRequest.byteCountMax, from: socket),
      !part.bytes.isEmpty
    {
      received += part.descriptors
      reader.append(part.bytes)
      do throws(AppFrameError) {
        guard let reply = try reader.next(HeldSocketReply.self) else { continue }
        for extra in received.dropFirst() { Glibc.close(extra) }
        return (reply, received.first)
      } catch { break }
    }
    for descriptor in received { Glibc.close(descriptor) }
    return refused
  }

  /// How long the manager's answer is waited for.
  private static var answerSeconds: Int { 10 }
}
