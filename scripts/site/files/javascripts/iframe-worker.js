// Browsers start no worker for a page that is a file. The search then runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      this.ready = new Promise((loaded) => { script.onload = () => loaded(scope); });
      frame.contentDocument.body.append(script);
    }

    async postMessage(data) {
      const scope = await this.ready;
      scope.dispatchEvent(new scope.MessageEvent("message", { data }));
    }
  };
}
