import "./state/language";
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./styles/index.css";
import { App } from "./app";

render(<App />, document.getElementById("app")!);
