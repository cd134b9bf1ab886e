/// The logic of a page, or of a row in it: the values that it shows and the user's input and
/// actions.
///
/// A view model knows no view and no network. It exposes properties, lists and actions of
/// `Reactive`, and declares in ``bindings`` which of them pages may use:
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
/// It lives on the main actor: there pages set its properties and start its actions, and there its
/// changes are read. Its properties may be set, and its actions may send, on any thread: the
/// setting thread marks the change, in some ten nanoseconds, and the main actor reads it as soon as
/// a page may get a patch. Changes made together on the main actor reach pages together. Changes
/// made by several threads are in every page soon after the last one was made; until then, a page
/// may show only some of them.
@MainActor
public protocol ViewModel: AnyObject {
  /// The values, lists and actions that pages may use. All others are inaccessible to them.
  static var bindings: Bindings<Self> { get }
}
