// The config plugin: it adds the entitlement that App Attest needs. Android needs no setting.

const ENTITLEMENT = "com.apple.developer.devicecheck.appattest-environment";
const ENVIRONMENTS = ["development", "production"];

/**
 * @param config The app's configuration.
 * @param options `environment`: that of keys of builds from Xcode, `production` by default.
 * TestFlight and the App Store have production keys, whatever the entitlement says.
 */
module.exports = function withSallyport(config, options = {}) {
  const entitlements = config.ios?.entitlements ?? {};
  const present = entitlements[ENTITLEMENT];
  const environment = options.environment ?? present ?? "production";
  if (!ENVIRONMENTS.includes(environment)) {
    throw new Error(`sallyport-expo: environment is ${ENVIRONMENTS.join(" or ")}`);
  }
  if (present !== undefined && present !== environment) {
    throw new Error(`sallyport-expo: ios.entitlements already says ${ENTITLEMENT}: ${present}`);
  }
  return {
    ...config,
    ios: { ...config.ios, entitlements: { ...entitlements, [ENTITLEMENT]: environment } },
  };
};
