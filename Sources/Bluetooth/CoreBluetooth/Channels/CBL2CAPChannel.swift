internal import BluetoothInterface
internal import RunLoopSupport

/// An L2CAP connection-oriented channel with an input and an output stream.
///
/// Open the streams, then read and write directly, or schedule them in a run loop for their
/// delegates. The channel closes when both streams are closed or the last reference to it is
/// released.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
  // Unchecked: all stored properties are constants; the streams have their own locks.

  private let peerStorage: CBPeer
  private let pipe: ChannelPipe
  private let input: InputStream
  private let output: OutputStream

  init(peer: CBPeer, pipe: ChannelPipe) {
    peerStorage = peer
    self.pipe = pipe
    (input, output) = PipeStreams.pair(pipe)
    super.init()
  }

  deinit { pipe.close() }

  /// The peer at the other end of the channel.
  open var peer: CBPeer! { peerStorage }
  /// The stream of received bytes.
  open var inputStream: InputStream! { input }
  /// The stream of bytes to send.
  open var outputStream: OutputStream! { output }
  /// The PSM that the channel was opened with.
  open var psm: CBL2CAPPSM { pipe.info.psm }
}

// Access to the channel without the streams and their run loop, for bridges to other APIs.
extension CBL2CAPChannel {
  /// Sets the only observer, or removes it if nil. It is called on the manager's queue when bytes
  /// have arrived, when there is space to send again, and when the channel has ended.
  package func observeChanges(_ call: (@Sendable () -> Void)?) { pipe.observeChanges(call) }

  /// Runs a closure on the manager's queue.
  package func enqueue(_ work: @escaping @Sendable () -> Void) { pipe.enqueue(work) }

  /// Removes and returns received bytes, at most this number; empty if there are none. Flow control
  /// stops the peer while bytes are not read.
  package func receive(byteCountMax: Int) -> Data {
    pipe.hasBytes ? Data(pipe.read(byteCountMax)) : Data()
  }

  /// Whether bytes can be sent now.
  package var hasSpace: Bool { pipe.hasSpace }

  /// Sends as many of the bytes as there is room for. Blocks only while another thread is sending.
  ///
  /// - Returns: The number of bytes accepted; 0 when the channel has ended.
  package func send(_ bytes: Data) -> Int {
    Array(bytes).withUnsafeBufferPointer { pipe.write($0) }
  }

  /// The result with which the channel ended; nil while it is open.
  package var ending: Result<Void, CBError>? {
    switch pipe.ending {
    case nil: nil
    case .closed: .success(())
    case .failed(let error): .failure(error as? CBError ?? CBError(.unknown))
    }
  }
}

extension Stream.PropertyKey {
  /// The number of bytes in the output stream that are not sent yet, as an `NSNumber`. Closing the
  /// channel before it is 0 loses them. Not part of Apple's interface.
  public static let unsentByteCountKey = unsentPipeByteCountKey
}
