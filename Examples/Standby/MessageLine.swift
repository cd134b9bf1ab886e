import AppLifecycle
import Bonjour
import Foundation

/// Where the messages come from: a host and a port in a file of the app's folder.
struct Server {
  var host: NWEndpoint.Host
  var port: NWEndpoint.Port

  init?(contentsOf path: String) {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let number = UInt16(words[1]),
      let port = NWEndpoint.Port(rawValue: number)
    else { return nil }
    host = NWEndpoint.Host(String(words[0]))
    self.port = port
  }
}

/// A connection over which messages come, each in a line, and are acknowledged. It is made again when it ends, and when a heartbeat is not
/// answered: a proxy on the way may have forgotten it without telling.
@MainActor final class MessageLine {
  private let server: Server
  private var connection: NWConnection?
  private var unread = Data()
  private var isBeatAnswered = true
  private var failureCount = 0
  /// While it waits before it connects again.
  private var task = UIBackgroundTaskIdentifier.invalid

  init(_ server: Server) { self.server = server }

  /// Connects. The system lets the app run until that is done or has failed.
  func connect() {
    connection?.cancel()
    unread = Data()
    isBeatAnswered = true
    let parameters = NWParameters.tcp
    // The system holds the connection by this name, and the next process gets it back.
    parameters.restoreIdentifier = "messages"
    let connection = NWConnection(host: server.host, port: server.port, using: parameters)
    self.connection = connection
    connection.stateUpdateHandler = { [weak self, weak connection] state in
      MainActor.assumeIsolated {
        guard let connection, connection === self?.connection else { return }
        self?.changed(connection, state)
      }
    }
    connection.start(queue: .main)
    receive(connection)
    endPause()
  }

  /// Sends a heartbeat; connects again if the last one was not answered.
  func beat() {
    guard let connection, isBeatAnswered else {
      print("the line is dead")
      return connect()
    }
    isBeatAnswered = false
    connection.send(content: Data("ping\n".utf8), completion: .idempotent)
  }

  private func changed(_ connection: NWConnection, _ state: NWConnection.State) {
    switch state {
    case .ready:
      failureCount = 0
      print("connected (\(word(connection.holding)))")
    case .failed(let error), .waiting(let error):
      print("the line has failed: \(error)")
      connectLater()
    case .setup, .preparing, .cancelled: break
    }
  }

  private func word(_ holding: NWConnection.Holding) -> String {
    switch holding {
    case .notRequested: "not held"
    case .held: "held"
    case .restored: "restored"
    case .replaces(let peer): "instead of the one with \(peer)"
    case .refused(let reason): "not held: \(reason)"
    }
  }

  private func receive(_ connection: NWConnection) {
    connection.receive(minimumIncompleteLength: 1, maximumLength: 4_096) {
      [weak self, weak connection] content, _, isComplete, error in
      MainActor.assumeIsolated {
        guard let self, let connection, connection === self.connection else { return }
        self.read(content ?? Data())
        if isComplete || error != nil {
          print("the line has ended")
          self.connectLater()
        } else {
          self.receive(connection)
        }
      }
    }
  }

  private func read(_ bytes: Data) {
    unread += bytes
    while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
      let message = String(decoding: unread[unread.startIndex..<end], as: UTF8.self)
      unread = Data(unread[unread.index(after: end)...])
      if message == "pong" {
        isBeatAnswered = true
      } else {
        print("message: \(message)")
        connection?.send(content: Data("received\n".utf8), completion: .idempotent)
      }
    }
    // A server that never ends its line.
    if unread.count > 65_536 { connectLater() }
  }

  /// Connects after a pause, for which the app keeps running in the background. Without time for that, the next
  /// heartbeat connects.
  private func connectLater() {
    connection?.cancel()
    connection = nil
    beginPause()
    failureCount += 1
    let seconds = min(pow(2, Double(failureCount - 1)) / 10, 20)
    DispatchQueue.main.asyncAfter(deadline: .now() + seconds) { [weak self] in
      MainActor.assumeIsolated { if self?.connection == nil { self?.connect() } }
    }
  }

  private func beginPause() {
    guard task == .invalid else { return }
    task = UIApplication.shared.beginBackgroundTask { [weak self] in self?.endPause() }
  }

  private func endPause() {
    UIApplication.shared.endBackgroundTask(task)
    task = .invalid
  }
}
