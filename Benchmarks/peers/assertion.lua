-- Verifies App Attest assertions inside nginx, as a team with lua-nginx-module would.
--
-- The cryptography is OpenSSL's, by FFI. A key's verification context is made once and kept. Public
-- keys, counters and spent challenges lie in Redis. A challenge is its expiry, a nonce, and an HMAC
-- over both.
local ffi = require "ffi"
local cjson = require "cjson.safe"
local lrucache = require "resty.lrucache"

-- No names of OpenSSL's types: other libraries for nginx declare those, and twice is an error.
ffi.cdef [[
void *d2i_PUBKEY(void **key, const unsigned char **input, long length);
void EVP_PKEY_free(void *key);
void *EVP_PKEY_CTX_new(void *key, void *engine);
void EVP_PKEY_CTX_free(void *context);
int EVP_PKEY_verify_init(void *context);
int EVP_PKEY_verify(void *context, const unsigned char *signature, size_t signature_length,
                    const unsigned char *digest, size_t digest_length);
const void *EVP_MD_fetch(void *library, const char *name, const char *properties);
void *EVP_MD_CTX_new(void);
int EVP_DigestInit_ex2(void *context, const void *hash, const void *parameters);
int EVP_DigestUpdate(void *context, const unsigned char *data, size_t length);
int EVP_DigestFinal_ex(void *context, unsigned char *digest, unsigned int *length);
void *EVP_MAC_fetch(void *library, const char *name, const char *properties);
void *EVP_MAC_CTX_new(void *mac);
struct sallyport_parameter {
    const char *key; unsigned int type; void *data; size_t size, returned;
};
int EVP_MAC_init(void *context, const unsigned char *key, size_t key_length,
                 const struct sallyport_parameter *parameters);
int EVP_MAC_update(void *context, const unsigned char *data, size_t length);
int EVP_MAC_final(void *context, unsigned char *code, size_t *length, size_t size);
unsigned char *SHA1(const unsigned char *data, size_t length, unsigned char *digest);
int RAND_bytes(unsigned char *bytes, int length);
int CRYPTO_memcmp(const void *a, const void *b, size_t length);
]]
local crypto = ffi.load("libcrypto.so.3")

local CHALLENGE_SECONDS = 120
-- A SubjectPublicKeyInfo of P-256 up to the point.
local POINT_PREFIX = ngx.decode_base64("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA=")

local M = {}
local settings
local keys

-- The hash is looked up once: SHA256() and HMAC() would do it again for each call.
local hash = crypto.EVP_MD_fetch(nil, "SHA256", nil)
local hashing = crypto.EVP_MD_CTX_new()
local sealing = crypto.EVP_MAC_CTX_new(crypto.EVP_MAC_fetch(nil, "HMAC", nil))
local code_length = ffi.new("size_t[1]")
local digest = ffi.new("unsigned char[32]")
local code = ffi.new("unsigned char[32]")
local nonce = ffi.new("unsigned char[16]")

local function sha256(text)
    crypto.EVP_DigestInit_ex2(hashing, hash, nil)
    crypto.EVP_DigestUpdate(hashing, text, #text)
    crypto.EVP_DigestFinal_ex(hashing, digest, nil)
    return ffi.string(digest, 32)
end

local function random(count)
    if crypto.RAND_bytes(nonce, count) ~= 1 then error("no random bytes") end
    return ffi.string(nonce, count)
end

function M.configure(values)
    settings = values
    settings.rp_id_hash = sha256(values.app)
    local file = assert(io.open(values.script))
    settings.script = file:read("*a")
    file:close()
    crypto.SHA1(settings.script, #settings.script, digest)
    settings.script_digest = ffi.string(digest, 20):gsub(".", function(byte)
        return ("%02x"):format(byte:byte())
    end)
    local name = ffi.new("char[7]", "SHA256")
    local parameters = ffi.new("struct sallyport_parameter[2]")
    -- OSSL_PARAM_UTF8_STRING is 4.
    parameters[0].key, parameters[0].type, parameters[0].data, parameters[0].size =
        "digest", 4, name, 6
    local secret = random(16) .. random(16)
    assert(crypto.EVP_MAC_init(sealing, secret, #secret, parameters) == 1)
    keys = assert(lrucache.new(100000))
end

-- Redis

local function read_reply(socket)
    local line, failure = socket:receive()
    if not line then return nil, failure end
    local kind, rest = line:sub(1, 1), line:sub(2)
    if kind == ":" then return tonumber(rest) end
    if kind == "-" then return false, rest end
    if kind ~= "$" then return rest end
    if rest == "-1" then return ngx.null end
    local text = socket:receive(tonumber(rest) + 2)
    return text and text:sub(1, -3)
end

local function send(socket, words)
    local parts = { "*", #words, "\r\n" }
    for _, word in ipairs(words) do
        word = tostring(word)
        parts[#parts + 1] = "$" .. #word .. "\r\n" .. word .. "\r\n"
    end
    return socket:send(parts)
end

local function redis(...)
    local socket = ngx.socket.tcp()
    socket:settimeout(5000)
    local pool = { pool = "redis", pool_size = 256 }
    local ok, failure = socket:connect("127.0.0.1", settings.redis_port, pool)
    if not ok then return nil, failure end
    if socket:getreusedtimes() == 0 then
        send(socket, { "SELECT", settings.database })
        if read_reply(socket) ~= "OK" then
            socket:close()
            return nil, "SELECT"
        end
    end
    send(socket, { ... })
    local reply, reason = read_reply(socket)
    if reply == nil then
        socket:close()
    else
        socket:setkeepalive(3600000)
    end
    return reply, reason
end

local function accept(key_id, counter, challenge)
    local arguments = { 2, "counter:" .. key_id, "spent:" .. challenge, counter,
        CHALLENGE_SECONDS * 1000 }
    local reply, reason = redis("EVALSHA", settings.script_digest, unpack(arguments))
    if reply == false and reason:find("^NOSCRIPT") then
        reply = redis("EVAL", settings.script, unpack(arguments))
    end
    return reply
end

-- Challenges

local function seal(text)
    -- Without a key the last one is used again.
    crypto.EVP_MAC_init(sealing, nil, 0, nil)
    crypto.EVP_MAC_update(sealing, text, #text)
    crypto.EVP_MAC_final(sealing, code, code_length, 32)
    return ffi.string(code, 32)
end

local function new_challenge()
    local text = ("%010d"):format(ngx.time() + CHALLENGE_SECONDS) .. random(16)
    return ngx.encode_base64(text .. seal(text))
end

-- The nonce of a challenge that is ours and has not expired.
local function open(challenge)
    local bytes = type(challenge) == "string" and ngx.decode_base64(challenge)
    if not bytes or #bytes ~= 58 then return nil end
    local text = bytes:sub(1, 26)
    if crypto.CRYPTO_memcmp(seal(text), bytes:sub(27), 32) ~= 0 then return nil end
    if tonumber(text:sub(1, 10)) < ngx.time() then return nil end
    return text:sub(11)
end

-- Assertions

-- The two members of the CBOR map, in either order, and nothing else.
local function parse(object)
    if object:byte(1) ~= 0xA2 then return nil end
    local found, at = {}, 2
    for _ = 1, 2 do
        local head = object:byte(at)
        if not head or head < 0x60 or head > 0x77 then return nil end
        local name = object:sub(at + 1, at + head - 0x60)
        at = at + 1 + head - 0x60
        head = object:byte(at)
        if not head then return nil end
        local length
        if head >= 0x40 and head <= 0x57 then
            length, at = head - 0x40, at + 1
        elseif head == 0x58 then
            length, at = object:byte(at + 1), at + 2
        elseif head == 0x59 then
            local high, low = object:byte(at + 1, at + 2)
            length, at = low and high * 256 + low, at + 3
        end
        if not length or at + length - 1 > #object or found[name] then return nil end
        found[name] = object:sub(at, at + length - 1)
        at = at + length
    end
    if at ~= #object + 1 then return nil end
    return found.signature, found.authenticatorData
end

-- The verification context of a known key.
local function context(key_id)
    local known = keys:get(key_id)
    if known then return known end
    local encoded = redis("GET", "key:" .. key_id)
    if type(encoded) ~= "string" then return nil end
    local der = POINT_PREFIX .. (ngx.decode_base64(encoded) or "")
    local input = ffi.new("const unsigned char *[1]", ffi.cast("const unsigned char *", der))
    local key = crypto.d2i_PUBKEY(nil, input, #der)
    if key == nil then return nil end
    known = ffi.gc(crypto.EVP_PKEY_CTX_new(key, nil), crypto.EVP_PKEY_CTX_free)
    crypto.EVP_PKEY_free(key)
    if crypto.EVP_PKEY_verify_init(known) ~= 1 then return nil end
    keys:set(key_id, known)
    return known
end

-- The counter of an assertion by this key over these bytes, or nil.
local function verify(key_id, object, client_data)
    local signature, data = parse(object)
    if not signature or not data or #data < 37 then return nil end
    local key = context(key_id)
    if not key then return nil end
    -- The nonce is the message that was signed: ECDSA hashes it once more.
    local signed = sha256(sha256(data .. sha256(client_data)))
    if crypto.EVP_PKEY_verify(key, signature, #signature, signed, 32) ~= 1 then return nil end
    if data:sub(1, 32) ~= settings.rp_id_hash then return nil end
    local a, b, c, d = data:byte(34, 37)
    return ((a * 256 + b) * 256 + c) * 256 + d
end

local function covers_request(claims)
    if ngx.req.get_body_file() then return false end
    return claims.method == ngx.req.get_method() and claims.path == ngx.var.uri
        and (claims.query or "") == (ngx.var.args or "")
        and claims.bodySHA256 == ngx.encode_base64(sha256(ngx.req.get_body_data() or ""))
end

local function is_proven()
    -- Three variables cost less than a table of all fields.
    local key_id = ngx.var.http_x_app_attest_key_id
    local object = ngx.decode_base64(ngx.var.http_x_app_attest_assertion or "")
    local client_data = ngx.decode_base64(ngx.var.http_x_app_attest_client_data or "")
    if not key_id or not object or not client_data then return false end
    local claims = cjson.decode(client_data)
    if type(claims) ~= "table" then return false end
    local challenge = open(claims.challenge)
    if not challenge then return false end
    ngx.req.read_body()
    if not covers_request(claims) then return false end
    local counter = verify(key_id, object, client_data)
    return counter and accept(key_id, counter, challenge) == 1
end

function M.check()
    local proven = is_proven()
    ngx.header["X-App-Attest-Challenge"] = new_challenge()
    if not proven then return ngx.exit(401) end
end

function M.answer_challenge()
    local challenge = new_challenge()
    ngx.header["Content-Length"] = #challenge
    ngx.print(challenge)
end

return M
