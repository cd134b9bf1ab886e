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

  /// A page shows the view model, and none did before. Called before the page gets its values. Not called
  /// for rows and for the members of a page's view model.
  func appeared()

  /// No page has shown the view model for about three seconds: it was closed, or left, or its tab has been
  /// in the background for half a minute, or the connection is lost. A page that comes back within its time
  /// makes it appear again; otherwise it is released later.
  func disappeared()
}

extension ViewModel {
  /// Does nothing.
  public func appeared() {}
  /// Does nothing.
  public func disappeared() {}
}
