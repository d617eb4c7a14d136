# The R worker: see peers/__init__.py for what goes in and out. One method, rrcov's PcaHubert(alpha = .5).
suppressMessages(library(rrcov))
fit <- function(X, k) PcaHubert(X, k = k, kmax = max(k, 10), alpha = 0.5)
set.seed(0)
invisible(suppressWarnings(fit(matrix(rnorm(2000), 100), 2)))
input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  ask <- strsplit(line, " ")[[1]]
  n <- as.integer(ask[2]); d <- as.integer(ask[3]); k <- as.integer(ask[4])
  folder <- paste(ask[-(1:5)], collapse = " ")
  reply <- tryCatch({
    X <- matrix(readBin(file.path(folder, "X.bin"), "double", n * d), n, d, byrow = TRUE)
    set.seed(as.integer(ask[5]))
    invisible(gc())
    time <- system.time(found <- suppressWarnings(fit(X, k)))
    # columns of the loadings one after the other are the components row by row
    beyond <- found@sd / found@cutoff.sd
    if (length(found@od) == n && found@cutoff.od > 0) beyond <- pmax(beyond, found@od / found@cutoff.od)
    writeBin(c(as.double(found@loadings), as.double(beyond)), file.path(folder, "out.bin"))
    paste("ok", time[["elapsed"]], time[["user.self"]] + time[["sys.self"]], ncol(found@loadings), 1)
  }, error = function(e) paste("error", gsub("[[:space:]]+", " ", conditionMessage(e))))
  cat(reply, "\n", sep = "")
  flush(stdout())
}
