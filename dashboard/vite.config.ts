import { defineConfig } from "vite";

// The output is committed and rebuilt by a test: nothing in it may depend on the time or the machine.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/mainstay/web/static",
    emptyOutDir: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    assetsInlineLimit: 0, // `data:` URLs are refused by default-src 'self'
    modulePreload: false,
    reportCompressedSize: true,
    rolldownOptions: {
      output: { entryFileNames: "assets/app-[hash].js", assetFileNames: "assets/app-[hash][extname]", codeSplitting: false },
    },
  },
});
