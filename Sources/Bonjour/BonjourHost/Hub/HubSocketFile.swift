import Essentials
import EventLoop
import Glibc

// The file of the socket of a hub's Multicast DNS.

extension BonjourHub {
  /// Listens at a path. The file of a hub that has ended is replaced.
  static func listen(at path: String, servesOthers: Bool) throws(SystemError) -> Int32 {
    guard let address = OwnerSocketAddress(path: path) else {
      throw SystemError(number: ENAMETOOLONG)
    }
    do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: path) } catch {
      throw SystemError(number: error == .isListenedAt ? EADDRINUSE : EEXIST)
    }
    let listener = try address.bindAndListen(permissions: 0o600)
    do throws(SystemError) {
      if servesOthers { try UNIXSocketFile.setPermissions(0o666, of: path) }
    } catch {
      Glibc.close(listener)
      throw error
    }
    return listener
  }

  /// Watches the file of a hub's socket, and has the engine accept programs at the one that is made in its place.
  static func watch(
    _ path: String, servesOthers: Bool, span: TimeSpan, _ engine: BonjourEngine
  ) -> SocketFileWatch {
    SocketFileWatch(
      path, span: span,
      makeAgain: { () throws(SystemError) in
        engine.acceptPrograms(at: try listen(at: path, servesOthers: servesOthers))
      },
      onResult: { error in
        engine.log?(
          error.map {
            "The hub cannot run Multicast DNS for programs at \(path) any more: \($0.text)."
          }
            ?? "The hub runs Multicast DNS at \(path) again, where its socket was removed or replaced."
        )
      })
  }
}

extension BonjourEngine {
  /// Accepts programs of a hub at another socket from now on, and owns it. Those that are connected stay.
  func acceptPrograms(at listener: Int32) {
    guard case .owning(let ownership) = state else {
      Glibc.close(listener)
      return
    }
    let socket = BonjourSocket(descriptor: listener)
    if let unused = ownership.sockets {
      // Programs are not accepted yet.
      for socket in unused { close(socket.descriptor) }
      ownership.sockets = [socket]
    } else {
      ownership.server.start([socket])
    }
  }
}
