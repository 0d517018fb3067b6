-- Asks Sallyport about a request before HAProxy forwards it: HAProxy 2.6 has no forward auth of its
-- own. For `http-request lua.sallyport_check`; haproxy.cfg shows what goes before and after it.

local gateway = "http://127.0.0.1:8080/check"
-- In milliseconds. If the gateway is silent for so long, HAProxy 2.6 asks up to four times in all,
-- and then refuses.
local patience = 5000

-- They end at this hop, are about the body, which is not sent, or are set below.
local left_out = {
    ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
    ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["trailer"] = true,
    ["transfer-encoding"] = true, ["upgrade"] = true, ["http2-settings"] = true,
}
-- Of a refusal, all but these goes to the client.
local hop_by_hop = {
    ["connection"] = true, ["content-length"] = true, ["keep-alive"] = true,
    ["transfer-encoding"] = true,
}

local function refuse(txn, status, body, fields)
    local reply = txn:reply({ status = status, body = body })
    for name, values in pairs(fields) do
        if not hop_by_hop[name] then
            for _, value in pairs(values) do reply:add_header(name, value) end
        end
    end
    txn:done(reply)
end

local function values(fields)
    local list = {}
    local index = 0
    -- HAProxy counts from 0.
    while fields[index] do
        list[#list + 1] = fields[index]
        index = index + 1
    end
    return list
end

core.register_action("sallyport_check", { "http-req" }, function(txn)
    local asked = {}
    local fields = txn.http:req_get_headers()
    for name, list in pairs(fields) do
        if not left_out[name] then asked[name] = values(list) end
    end
    asked["host"] = { txn.f:req_hdr("host") or "" }
    asked["x-forwarded-method"] = { txn.f:method() }
    asked["x-forwarded-uri"] = { txn.f:pathq() }
    if fields["content-length"] then
        asked["x-forwarded-content-length"] = { fields["content-length"][0] }
    end
    if fields["transfer-encoding"] then
        asked["x-forwarded-transfer-encoding"] = { fields["transfer-encoding"][0] }
    end
    -- Nothing announces a body, and haproxy.cfg has waited for one in vain.
    local announced = fields["content-length"] or fields["transfer-encoding"]
    if not announced and txn:get_var("txn.bodiless") then
        asked["x-forwarded-content-length"] = { "0" }
    end

    local answer = core.httpclient():get({ url = gateway, headers = asked, timeout = patience })
    if not answer or answer.status == 0 then
        return refuse(txn, 503, "", { ["retry-after"] = { "1" } })
    end
    if answer.status ~= 200 then
        return refuse(txn, answer.status, answer.body, answer.headers)
    end
    for name, list in pairs(answer.headers) do
        if name:sub(1, 9) == "x-attest-" then
            for _, value in pairs(list) do txn.http:req_add_header(name, value) end
        end
    end
    for _, name in pairs({ "challenge", "action" }) do
        local list = answer.headers["x-app-attest-" .. name]
        if list then txn:set_var("txn." .. name, list[0]) end
    end
end)
