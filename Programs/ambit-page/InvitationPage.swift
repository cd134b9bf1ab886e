import Binding
import Reactive

/// An invitation of another browser, which the user of an admitted one requests.
final class InvitationPage: ViewModel {
  /// An address that admits one browser, once; nil until one is asked for.
  let address = MutableProperty<String?>(nil)
  let invite: Action<Void, Never, Never>
  let close: Action<Void, Never, Never>

  static let bindings: Bindings<InvitationPage> = [
    "address": .oneWay(\.address), "invite": .action(\.invite), "close": .action(\.close),
  ]

  /// - Parameter makeAddress: Called for each invitation.
  init(_ makeAddress: @escaping @MainActor @Sendable () -> String?) {
    let address = address
    invite = Action(onMainActor: { address.value = makeAddress() })
    close = Action(onMainActor: { address.value = nil })
  }
}
