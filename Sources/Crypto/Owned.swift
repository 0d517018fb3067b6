/// One OpenSSL object and the function that frees it.
///
/// Whoever reads ``pointer`` keeps the owner alive meanwhile.
@safe
struct Owned: ~Copyable {
    let pointer: OpaquePointer
    private let free: @convention(c) (OpaquePointer?) -> Void

    /// Nil when OpenSSL gave none.
    init?(_ pointer: OpaquePointer?, freedBy free: @convention(c) (OpaquePointer?) -> Void) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
        unsafe self.free = free
    }

    deinit { unsafe free(pointer) }
}
