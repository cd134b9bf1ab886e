/// The files that a page with a cover flow loads. They are part of the program, not read from disk.
///
/// They refer to each other by their names, so they must be served from one folder. A page's
/// content security policy must allow `script-src 'self' 'wasm-unsafe-eval'`, to compile
/// WebAssembly; `style-src 'self'`; `connect-src 'self'`, to load it; and in `img-src` the sources
/// of the pictures.
public enum CoverFlowPage {
  /// The contents of the files by their names.
  ///
  /// `cover-flow.js` is the module that pages import, `cover-flow.css` its style sheet. The
  /// WebAssembly file must be served as `application/wasm`. `cover-flow-binding.js` is for pages of
  /// the module BindingServer.
  public static let files: [String: [UInt8]] = [
    "cover-flow.js": PackageResources.cover_flow_js,
    "cover-flow-back.js": PackageResources.cover_flow_back_js,
    "cover-flow-binding.js": PackageResources.cover_flow_binding_js,
    "cover-flow-engine.js": PackageResources.cover_flow_engine_js,
    "cover-flow-images.js": PackageResources.cover_flow_images_js,
    "cover-flow-input.js": PackageResources.cover_flow_input_js,
    "cover-flow-list.js": PackageResources.cover_flow_list_js,
    "cover-flow-probe.js": PackageResources.cover_flow_probe_js,
    "cover-flow-report.js": PackageResources.cover_flow_report_js,
    "cover-flow.css": PackageResources.cover_flow_css,
    "cover-flow.wasm": PackageResources.cover_flow_wasm,
  ]
}
