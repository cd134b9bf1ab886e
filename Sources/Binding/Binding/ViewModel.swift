/// The logic of a page, or of a row in it: what it shows, what can be typed, what can be done.
///
/// A view model knows no view and no network. It exposes properties, lists and actions of `Reactive`,
/// and says in ``bindings`` what of these pages may name:
///
///     final class SignIn: ViewModel {
///       let email = MutableProperty("")
///       let isEmailValid: Property<Bool>
///       let signIn: Action<Void, String, SignInError>
///
///       static let bindings: Bindings<SignIn> = [
///         "email": .twoWay(\.email),
///         "isEmailValid": .oneWay(\.isEmailValid),
///         "signIn": .action(\.signIn, error: \.text),
///       ]
///     }
///
/// It lives on the main actor: there pages set its properties and start its actions, and there what
/// has changed is read. Its properties may be set, and its actions may send, on any thread: a change
/// is noted where it happens, in some ten nanoseconds, and read on the main actor as soon as a page
/// may have it. What is set together on the main actor reaches pages together. What several threads
/// set is up to date in every page soon after the last one has set it; in between, a page may have
/// one of two changes.
@MainActor
public protocol ViewModel: AnyObject {
  /// The white list of what pages may show, set and start. What isn't in it, they can't.
  static var bindings: Bindings<Self> { get }
}
