internal import BluetoothMachines
internal import RunLoopSupport

/// A connection-oriented channel: two streams.
///
/// Open the streams, schedule them in a run loop to have their delegates called, or read and write
/// directly. The channel closes when both streams are closed or the app lets go of it.
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

  /// The other end.
  open var peer: CBPeer! { peerStorage }
  /// What the peer sends.
  open var inputStream: InputStream! { input }
  /// What is sent to the peer.
  open var outputStream: OutputStream! { output }
  /// The number on which the channel was opened.
  open var psm: CBL2CAPPSM { pipe.info.psm }
}

extension Stream.PropertyKey {
  /// How many bytes of a channel's output stream wait to be sent, as an `NSNumber`: closing the
  /// channel earlier loses them. Not part of Apple's interface.
  public static let unsentByteCountKey = unsentPipeByteCountKey
}
