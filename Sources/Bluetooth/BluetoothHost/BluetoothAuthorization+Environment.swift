package import BluetoothInterface
import EventLoop

extension BluetoothAuthorization {
  /// The reason why the environment doesn't let this program use a radio; nil if it is allowed.
  package static var refusal: String? { refusal(named: ProcessEnvironment.value(variable)) }
}
