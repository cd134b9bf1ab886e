import AppLifecycle
import Bonjour
import Foundation

/// An app with streams as VoIP apps had them: it prints what comes from the host and port in the file "server".
///
/// With the word "keys" behind them it has a connection whose state ends with the process, as that of TLS does, and with
/// the word "tasks" one whose content it handles in tasks.
@main
final class HeldStreams: UIResponder, UIApplicationDelegate, StreamDelegate {
  private var input: InputStream?
  private var output: OutputStream?
  private var connection: NWConnection?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let text = (try? String(contentsOfFile: "server", encoding: .utf8)) ?? ""
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count >= 2, let port = UInt16(words[1]) else { return false }
    if words.count > 2 {
      connect(to: words[0], port, restores: words[2] != "keys")
      return true
    }
    Stream.getStreamsToHost(
      withName: words[0], port: Int(port), inputStream: &input, outputStream: &output)
    for stream in [input, output] as [Stream?] {
      stream?.delegate = self
      stream?.setProperty(StreamNetworkServiceTypeValue.voIP, forKey: .networkServiceType)
      stream?.schedule(in: .main, forMode: .default)
      stream?.open()
    }
    return true
  }

  private func connect(to host: String, _ port: UInt16, restores: Bool) {
    let parameters = NWParameters.tcp
    parameters.restoreIdentifier = "connection"
    parameters.restoresConnection = restores
    let connection = NWConnection(
      host: NWEndpoint.Host(host), port: NWEndpoint.Port(integerLiteral: port), using: parameters)
    connection.stateUpdateHandler = { [weak connection] state in
      if case .ready = state, let connection { print("holding \(connection.holding)") }
    }
    connection.start(queue: .main)
    self.connection = connection
    if restores { receive(on: connection) }
  }

  /// Requests more when a task has handled the content.
  private func receive(on connection: NWConnection) {
    connection.receive(minimumIncompleteLength: 1, maximumLength: 100) { content, _, _, _ in
      Task { @MainActor in
        try? await Task.sleep(for: .milliseconds(100))
        print("handled \(String(decoding: content ?? Data(), as: UTF8.self))")
        if content != nil { self.receive(on: connection) }
      }
    }
  }

  nonisolated func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    guard eventCode == .hasBytesAvailable, let input = aStream as? InputStream else {
      if eventCode == .endEncountered { print("end") }
      return
    }
    // A byte at a time, so that the rest wakes the app again or is waited for.
    var byte: UInt8 = 0
    if input.read(&byte, maxLength: 1) == 1 { print("byte \(byte)") }
  }
}
