// The module for Android is one of React Native, in Java. The one for Apple is one of Expo, which
// expo-module.config.json names.
module.exports = {
  dependency: {
    platforms: {
      android: {
        sourceDir: "./android",
        packageImportPath: "import dev.sallyport.expo.SallyportPackage;",
        packageInstance: "new SallyportPackage()",
      },
      ios: null,
    },
  },
};
