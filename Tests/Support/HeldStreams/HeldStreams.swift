import AppLifecycle
import Bonjour
import Foundation

/// An app with streams as VoIP apps had them: it prints what comes from the host and port in the file "server".
@main
final class HeldStreams: UIResponder, UIApplicationDelegate, StreamDelegate {
  private var input: InputStream?
  private var output: OutputStream?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let text = (try? String(contentsOfFile: "server", encoding: .utf8)) ?? ""
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count == 2, let port = Int(words[1]) else { return false }
    Stream.getStreamsToHost(
      withName: words[0], port: port, inputStream: &input, outputStream: &output)
    for stream in [input, output] as [Stream?] {
      stream?.delegate = self
      stream?.setProperty(StreamNetworkServiceTypeValue.voIP, forKey: .networkServiceType)
      stream?.schedule(in: .main, forMode: .default)
      stream?.open()
    }
    return true
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
